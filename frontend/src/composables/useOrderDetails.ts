import { computed, ref, shallowRef, watch } from 'vue'
import { useAccountClient } from '../account/client'
import { Refused } from '../live/ops'
import type { OrderDetails } from '../protocol/orderdetails'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'

/** An order and its history, which is read again after each change of the order. */
export function useOrderDetails(id: () => string) {
  const live = useLive()
  const orders = useOrders()
  const client = useAccountClient()
  const details = shallowRef<OrderDetails>()
  const missing = ref(false)
  const failed = ref(false)
  const order = computed(() => orders.byId.get(id()))

  async function load(): Promise<void> {
    const wanted = id()
    failed.value = missing.value = false
    try {
      const read = await client.order(wanted)
      if (wanted !== id()) return
      details.value = read
      orders.upsert(read.order)
    } catch (error) {
      console.warn('order:', error)
      if (wanted !== id()) return
      // The row of a reservation does not exist yet.
      missing.value = error instanceof Refused && error.refusal.code === 'not_found' && !order.value
      failed.value = !order.value && !missing.value
    }
  }

  watch(
    () => (live.ready ? `${id()} ${String(order.value?.rev)}` : undefined),
    (wanted) => {
      if (details.value?.order.id !== id()) details.value = undefined
      if (wanted && details.value?.order.rev !== order.value?.rev) void load()
      else if (wanted && !order.value) void load()
    },
    { immediate: true },
  )

  return { order, details, missing, failed, load }
}
