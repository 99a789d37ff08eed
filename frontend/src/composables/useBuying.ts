import { computed } from 'vue'
import { countdown } from '../format/countdown'
import type { Sale } from '../protocol/types'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePresses } from '../stores/presses'
import { useSession } from '../stores/session'
import { phaseAt } from '../stores/slots'
import { useWords } from '../words'

/** What the Buy button of a sale says and whether it can be pressed now. */
export function useBuying(sale: () => Sale) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  const presses = usePresses()
  const words = useWords()

  const phase = computed(() => phaseAt(sale(), live.now))
  const press = computed(() => presses.onSale(sale().id))
  /** The last press on this sale, if it was refused and that was not read yet. */
  const refused = computed(() =>
    presses.ended.findLast((press) => press.sale === sale().id && press.ending?.kind === 'refused'),
  )
  const refusal = computed(() =>
    refused.value?.ending?.kind === 'refused' ? refused.value.ending : undefined,
  )

  function dismiss(): void {
    if (refused.value) presses.forget(refused.value.key)
  }

  /** Units of this sale that the shopper has, as far as the page knows. */
  const mine = computed(() =>
    orders.all
      .filter(
        (order) => order.sale === sale().id && !['cancelled', 'expired', 'refused'].includes(order.state),
      )
      .reduce((units, order) => units + order.qty, 0),
  )
  const allowed = computed(() => Math.max(0, sale().limit - mine.value))

  const label = computed(() => {
    const w = words.value.buy
    if (press.value) return presses.repeated.has(press.value.key) ? w.repeating : w.asking
    if (phase.value === 'closed') return w.closed
    if (sale().paused) return w.paused
    if (phase.value === 'upcoming') return w.opensIn(countdown(sale().opens_at - live.now))
    if (allowed.value === 0) return w.limitReached
    if (sale().stock === 0) return w.soldOut
    if (session.guestsOff) return w.signIn
    if (!live.canAsk) return w.offline
    return mine.value > 0 ? w.another : w.press
  })

  const canPress = computed(
    () =>
      !press.value &&
      phase.value === 'open' &&
      !sale().paused &&
      allowed.value > 0 &&
      sale().stock > 0 &&
      live.canAsk,
  )

  return { phase, press, refusal, dismiss, mine, allowed, label, canPress }
}
