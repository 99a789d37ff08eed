import { computed } from 'vue'
import { TENTHS_FROM_MS } from '../format/countdown'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useDetails } from '../stores/details'
import { useSales } from '../stores/sales'
import { useSlots } from '../stores/slots'
import { useNextFrame, useTimer } from '../timers'

/** The interval of the displayed time, in milliseconds. */
const CLOCK_MS = 200
/** The interval while a countdown shows tenths of a second, in milliseconds. */
const TENTHS_MS = 100

/**
 * Refreshes the displayed time, from which all phases and countdowns are computed. A sale must not open up to one
 * interval late, so the timer ends at the next instant at which something opens or ends, and the first frame after it
 * shows the new phase.
 */
export function openDisplayClock(refresh: () => void): void {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  const details = useDetails()
  const orders = useOrders()
  const timer = useTimer()
  const nextFrame = useNextFrame()

  const instants = computed(() => [
    ...[...slots.slots, ...(sales.shown ?? []), ...(details.sale ? [details.sale] : [])].flatMap(
      ({ opens_at, closes_at }) => [opens_at, closes_at],
    ),
    ...orders.running.map(({ pay_until }) => pay_until ?? 0),
  ])

  function tick(): void {
    refresh()
    const now = live.instant()
    const left = Math.min(...instants.value.filter((instant) => instant > now)) - now
    const interval = left < TENTHS_FROM_MS ? TENTHS_MS : CLOCK_MS
    if (left > interval) timer.start(interval, tick)
    else timer.start(left, () => nextFrame(tick))
  }

  tick()
}
