import { ref, shallowRef, watch } from 'vue'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import type { PayCode } from '../shop/paying'
import { useLive } from '../stores/live'

/** The code of an order that is on show: asked for at once, and again when its answer was lost and the shop is back. */
export function usePayCode(order: Order) {
  const shop = useShop()
  const live = useLive()
  /** Undefined while the shop is being asked. */
  const code = shallowRef<PayCode>()
  /** When the gateway stops taking money, a little before the deadline of the order; undefined before it was told. */
  const until = ref<number>()

  async function ask(): Promise<void> {
    code.value = undefined
    code.value = await shop.payCode(order)
    if ('until' in code.value) until.value = code.value.until
  }

  watch(
    () => live.ready,
    (ready) => {
      if (ready && code.value && 'problem' in code.value && code.value.problem === 'lost') void ask()
    },
  )
  void ask()

  return { code, until, ask }
}
