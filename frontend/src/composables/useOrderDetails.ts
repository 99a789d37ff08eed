import { computed, ref, shallowRef, watch } from 'vue'
import { useAccountClient } from '../account/client'
import { Refused } from '../live/ops'
import type { OrderDetails } from '../protocol/orderdetails'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useSession } from '../stores/session'

/** An order and its history, which is read again after each change of the order. */
export function useOrderDetails(id: () => string) {
  const live = useLive()
  const orders = useOrders()
  const session = useSession()
  const client = useAccountClient()
  const details = shallowRef<OrderDetails>()
  const missing = ref(false)
  const failed = ref(false)
  const order = computed(() => orders.byId.get(id()))

  async function load(): Promise<void> {
    const [wanted, user] = [id(), session.user?.id]
    // A reply for another order or user is dropped, and one that is older than the displayed state.
    const isStale = (): boolean => wanted !== id() || user !== session.user?.id
    failed.value = missing.value = false
    try {
      const read = await client.order(wanted)
      if (isStale() || read.order.rev < (details.value?.order.rev ?? 0)) return
      details.value = read
      orders.upsert(read.order)
    } catch (error) {
      console.warn('order:', error)
      if (isStale()) return
      // The row of a reservation does not exist yet.
      missing.value = error instanceof Refused && error.refusal.code === 'not_found' && !order.value
      failed.value = !details.value && order.value?.state !== 'reserved' && !missing.value
    }
  }

  watch(
    () => (live.ready ? `${id()} ${String(order.value?.rev)}` : undefined),
    (wanted) => {
      if (details.value?.order.id !== id()) details.value = undefined
      if (wanted && (!order.value || details.value?.order.rev !== order.value.rev)) void load()
    },
    { immediate: true },
  )

  return { order, details, missing, failed, load }
}
