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
  const refusal = computed(() => presses.refusals.get(sale().id))

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
    if (!live.ready) return w.offline
    return mine.value > 0 ? w.another : w.press
  })

  const canPress = computed(
    () =>
      !press.value &&
      phase.value === 'open' &&
      !sale().paused &&
      allowed.value > 0 &&
      sale().stock > 0 &&
      live.ready,
  )

  return { phase, press, refusal, mine, allowed, label, canPress }
}
