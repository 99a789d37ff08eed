import { ref } from 'vue'
import { departure, paymentMethod } from '../checkout/departure'
import { Lost, Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import type { ErrorCode, Order, Payment, PayVia } from '../protocol/types'
import { useDeliverySheet } from '../stores/deliverysheet'
import { asReadonly } from '../stores/readonly'
import { usePause } from '../timers'
import { useExplain } from './explain'

/** Maximum attempts per click while the server is busy; each attempt returns the same payment. */
const TRIES = 5
/** Fewer attempts for a code: the shopper sees an empty square and has another payment method. */
const CODE_TRIES = 2
const RETRY_MS = 500

/** The text of a payment code, or the reason of a failure. */
export type PayCode = { text: string } | { problem: ErrorCode | 'lost' }

/** Payments and refund requests. `order` events report their outcome, never these replies. */
export function openPaying(socket: LiveSocket) {
  const explain = useExplain()
  const delivery = useDeliverySheet()
  /** Orders whose payment is being opened. */
  const paying = ref(new Set<string>())
  const pause = usePause()

  async function pay(order: Order): Promise<void> {
    if (paying.value.has(order.id)) return
    paying.value.add(order.id)
    const via = paymentMethod()
    const gateway = departure(via)
    try {
      const { url } = await requestPayment(order.id, via, TRIES)
      if (url) gateway.open(url)
      else gateway.cancel()
    } catch (error) {
      gateway.cancel()
      if (error instanceof Refused && error.refusal.code === 'address_required') delivery.show(order, true)
      else explain(error)
    } finally {
      paying.value.delete(order.id)
    }
  }

  /** Requests a code; it belongs to the same payment as the other methods. */
  async function payCode(order: Order): Promise<PayCode> {
    try {
      const { qr } = await requestPayment(order.id, 'qr', CODE_TRIES)
      return qr ? { text: qr } : { problem: 'wrong_state' }
    } catch (error) {
      if (error instanceof Refused) return { problem: error.refusal.code }
      if (error instanceof Lost) return { problem: 'lost' }
      throw error
    }
  }

  async function requestPayment(order: string, via: PayVia, maxTries: number): Promise<Payment> {
    for (let tries = 1; ; tries++) {
      try {
        return await socket.request('pay', { order, via })
      } catch (error) {
        const later = error instanceof Refused && ['busy', 'rate_limited'].includes(error.refusal.code)
        if (!later || tries === maxTries) throw error
        await pause(error.refusal.retry_ms || RETRY_MS)
      }
    }
  }

  async function refund(order: Order, reason: string): Promise<void> {
    try {
      await socket.request('refund', { order: order.id, reason })
    } catch (error) {
      explain(error)
    }
  }

  return { paying: asReadonly(paying), pay, payCode, refund }
}
