import { ref, shallowRef, watch } from 'vue'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import type { PayCode } from '../shop/paying'
import { useLive } from '../stores/live'

/**
 * The payment code of the displayed order. It is requested at once, and again after a reconnect if the reply was lost.
 */
export function usePayCode(order: Order) {
  const shop = useShop()
  const live = useLive()
  /** Undefined while loading. */
  const code = shallowRef<PayCode>()
  /** The end of the gateway's payment window, a little before the order's deadline; undefined until it is loaded. */
  const until = ref<number>()

  async function load(): Promise<void> {
    code.value = undefined
    code.value = await shop.payCode(order)
    if ('until' in code.value) until.value = code.value.until
  }

  watch(
    () => live.ready,
    (ready) => {
      if (ready && code.value && 'problem' in code.value && code.value.problem === 'lost') void load()
    },
  )
  void load()

  return { code, until, load }
}
