import { computed } from 'vue'
import { countdown } from '../format/countdown'
import type { Order, OrderState, Sale } from '../protocol/types'
import { useLive } from '../stores/live'
import { isPayable, useOrders } from '../stores/orders'
import { useAttempts } from '../stores/attempts'
import { useSession } from '../stores/session'
import { phaseAt } from '../stores/slots'
import { useWords } from '../words'
import { GUARD_MS, APPEAR_GUARD_MS, useClickGuard } from './useClickGuard'

/** States in which an order holds no unit. */
const RELEASED_STATES: OrderState[] = ['cancelled', 'expired', 'refused', 'refunded']

/**
 * The label and the action of the main button of a sale. The button is Buy only while the shopper has no order of the
 * sale. After a buy it shows the state of the order, and becomes Pay. A separate control buys another unit (`another`).
 */
export function useBuyButton(sale: () => Sale) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  const attempts = useAttempts()
  const words = useWords()

  const phase = computed(() => phaseAt(sale(), live.now))
  const attempt = computed(() => attempts.onSale(sale().id))
  /** The last attempt in this sale, if it was rejected and the message was not dismissed. */
  const refused = computed(() =>
    attempts.ended.findLast((attempt) => attempt.sale === sale().id && attempt.ending?.kind === 'refused'),
  )
  const refusal = computed(() =>
    refused.value?.ending?.kind === 'refused' ? refused.value.ending : undefined,
  )

  function dismiss(): void {
    if (refused.value) attempts.remove(refused.value.key)
  }

  const ordersOfSale = computed(() => orders.all.filter((order) => order.sale === sale().id))
  /** The shopper's orders that hold units of this sale, newest first, among the loaded orders. */
  const activeOrders = computed(() =>
    ordersOfSale.value.filter(({ state }) => !['refunding', ...RELEASED_STATES].includes(state)),
  )
  const heldUnits = computed(() => units(activeOrders.value))
  /** Refunded units still count towards the limit. */
  const allowed = computed(() => {
    const counted = ordersOfSale.value.filter(
      ({ state }) => state === 'refunded' || !RELEASED_STATES.includes(state),
    )
    return Math.max(0, sale().limit - units(counted))
  })
  const reserved = computed(() => activeOrders.value.find(({ state }) => state === 'reserved'))
  const unpaid = computed(
    () => activeOrders.value.filter(({ state }) => state === 'pending').sort(byDeadline)[0],
  )

  const isBuyable = computed(
    () =>
      !attempt.value &&
      phase.value === 'open' &&
      !sale().paused &&
      allowed.value > 0 &&
      sale().stock > 0 &&
      !live.isBlocked,
  )
  const forSale = computed(() => isBuyable.value && live.canRequest)
  const action = computed<'buy' | 'login' | 'pay' | 'none'>(() => {
    if (unpaid.value) return live.canRequest && isPayable(unpaid.value, live.now) ? 'pay' : 'none'
    if (isBuyable.value && session.mustLogIn) return 'login'
    return forSale.value && heldUnits.value === 0 ? 'buy' : 'none'
  })
  /** Whether a shopper with units can buy one more. */
  const another = computed(() => forSale.value && heldUnits.value > 0 && !reserved.value)

  const label = computed(() => {
    const w = words.value.buy
    if (unpaid.value) return isPayable(unpaid.value, live.now) ? w.pay : words.value.orders.payLate
    if (live.isBlocked) return w.blocked
    if (attempt.value) return attempts.repeated.has(attempt.value.key) ? w.repeating : w.pending
    if (reserved.value) return words.value.orders.state.reserved
    if (heldUnits.value > 0) return w.yours(heldUnits.value)
    if (phase.value === 'closed') return w.closed
    if (sale().paused) return w.paused
    if (phase.value === 'upcoming') return w.opensIn(countdown(sale().opens_at - live.now))
    if (allowed.value === 0) return w.limitReached
    if (sale().stock === 0) return w.soldOut
    return session.mustLogIn ? w.logIn : w.buy
  })

  /** A key of all outcomes in this sale. When it changes, the buttons change their meaning. */
  const outcomes = computed(() =>
    [attempt.value?.key, ...ordersOfSale.value.map(({ id, state }) => `${id} ${state}`)].join(),
  )
  const guarded = useClickGuard(() => outcomes.value, GUARD_MS, APPEAR_GUARD_MS)

  return {
    phase,
    attempt,
    refusal,
    dismiss,
    heldUnits,
    allowed,
    reserved,
    unpaid,
    action,
    another,
    label,
    guarded,
  }
}

function units(orders: Order[]): number {
  return orders.reduce((sum, order) => sum + order.qty, 0)
}

function byDeadline(a: Order, b: Order): number {
  return (a.pay_until ?? 0) - (b.pay_until ?? 0)
}
