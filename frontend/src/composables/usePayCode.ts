import { onScopeDispose, shallowRef, watch } from 'vue'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import type { PayCode } from '../shop/paying'
import { useDeliverySheet } from '../stores/deliverysheet'
import { useLive } from '../stores/live'
import { usePaySheet } from '../stores/paysheet'

/**
 * The payment code of the displayed order. It is requested at once, and again after a reconnect if the reply was lost.
 */
export function usePayCode(order: Order) {
  const shop = useShop()
  const live = useLive()
  const sheet = usePaySheet()
  const delivery = useDeliverySheet()
  /** Undefined while loading. */
  const code = shallowRef<PayCode>()

  let closed = false
  onScopeDispose(() => (closed = true))

  async function load(): Promise<void> {
    code.value = undefined
    const reply = await shop.payCode(order)
    if (closed) return
    code.value = reply
    if ('problem' in reply && reply.problem === 'address_required') {
      sheet.close()
      delivery.show(order, true)
    }
  }

  watch(
    () => live.ready,
    (ready) => {
      if (ready && code.value && 'problem' in code.value && code.value.problem === 'lost') void load()
    },
  )
  void load()

  return { code, load }
}
