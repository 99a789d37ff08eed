import { computed } from 'vue'
import { buyStep, type BuyFacts, type BuyStep } from '../checkout/buystep'
import { countdown } from '../format/countdown'
import type { Order, OrderState, Sale } from '../protocol/types'
import { useDeliverySheet } from '../stores/deliverysheet'
import { useLive } from '../stores/live'
import { isPayable, useOrders } from '../stores/orders'
import { useAttempts } from '../stores/attempts'
import { usePasses } from '../stores/passes'
import { useSession } from '../stores/session'
import { phaseAt } from '../stores/slots'
import { useWords } from '../words'
import { GUARD_MS, APPEAR_GUARD_MS, useClickGuard } from './useClickGuard'

/** The steps with an action of the main button. */
const ACTIONS: Partial<Record<BuyStep, 'buy' | 'login' | 'pay'>> = {
  ready: 'buy',
  expired: 'buy',
  login: 'login',
  address: 'pay',
  pay: 'pay',
}

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
  const passes = usePasses()
  const delivery = useDeliverySheet()
  const words = useWords()

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

  const facts = computed((): BuyFacts => ({
    phase: phaseAt(sale(), live.now),
    paused: sale().paused,
    stock: sale().stock,
    allowed: allowed.value,
    held: heldUnits.value,
    pending: attempt.value !== undefined,
    challenged: passes.shown?.sale === sale().id,
    reserved: reserved.value !== undefined,
    unpaid: unpaid.value && paymentOf(unpaid.value),
    expired: ordersOfSale.value[0]?.state === 'expired',
    blocked: live.isBlocked,
    mustLogIn: session.mustLogIn,
  }))
  const step = computed(() => buyStep(facts.value))

  function paymentOf(order: Order): { payable: boolean; needsAddress: boolean } {
    return { payable: isPayable(order, live.now), needsAddress: delivery.isRequired(order) }
  }

  const action = computed(() => {
    const wanted = ACTIONS[step.value] ?? 'none'
    return wanted === 'login' || live.canRequest ? wanted : 'none'
  })
  /** Whether a shopper with units can buy one more: as without them, the step would be `ready`. */
  const another = computed(
    () =>
      heldUnits.value > 0 &&
      live.canRequest &&
      buyStep({ ...facts.value, held: 0, unpaid: undefined, expired: false }) === 'ready',
  )

  const label = computed(() => {
    const w = words.value.buy
    switch (step.value) {
      case 'sending':
        return attempts.repeated.has(attempt.value?.key ?? '') ? w.repeating : w.steps.sending
      case 'upcoming':
        return w.opensIn(countdown(sale().opens_at - live.now))
      case 'paid':
        return w.yours(heldUnits.value)
      default:
        return w.steps[step.value]
    }
  })

  /** A key of all outcomes in this sale. When it changes, the buttons change their meaning. */
  const outcomes = computed(() =>
    [attempt.value?.key, ...ordersOfSale.value.map(({ id, state }) => `${id} ${state}`)].join(),
  )
  const guarded = useClickGuard(() => outcomes.value, GUARD_MS, APPEAR_GUARD_MS)

  return {
    step,
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
