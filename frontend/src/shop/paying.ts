import { ref } from 'vue'
import { departure, wayToPay } from '../checkout/departure'
import { Lost, Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import type { ErrorCode, Order, Payment, PayVia } from '../protocol/types'
import { asReadonly } from '../stores/readonly'
import { usePause } from '../timers'
import { useExplain } from './explain'

/** How often a busy shop is asked for one press; each time it is the same payment. */
const TRIES = 5
/** For a code fewer: the shopper waits in front of an empty square, and has another way. */
const CODE_TRIES = 2
const RETRY_MS = 500

/** The text of a code that a phone scans and until when it can be paid, or why there is none. */
export type PayCode = { text: string; until: number } | { problem: ErrorCode | 'lost' }

/** Paying, and asking for the money back. What becomes of it is told by `order` events, never by these replies. */
export function openPaying(socket: LiveSocket) {
  const explain = useExplain()
  /** Orders whose payment is being opened. */
  const paying = ref(new Set<string>())
  const pause = usePause()

  async function pay(order: Order): Promise<void> {
    if (paying.value.has(order.id)) return
    paying.value.add(order.id)
    const via = wayToPay()
    const leave = departure(via)
    try {
      const { url } = await ask(order.id, via, TRIES)
      if (url) leave.to(url)
      else leave.stay()
    } catch (error) {
      leave.stay()
      explain(error)
    } finally {
      paying.value.delete(order.id)
    }
  }

  /** Asks for a code; it is the same payment as in any other way. */
  async function payCode(order: Order): Promise<PayCode> {
    try {
      const { qr, pay_by, pay_until } = await ask(order.id, 'qr', CODE_TRIES)
      return qr ? { text: qr, until: pay_until ?? pay_by } : { problem: 'wrong_state' }
    } catch (error) {
      if (error instanceof Refused) return { problem: error.refusal.code }
      if (error instanceof Lost) return { problem: 'lost' }
      throw error
    }
  }

  async function ask(order: string, via: PayVia, most: number): Promise<Payment> {
    for (let tries = 1; ; tries++) {
      try {
        return await socket.request('pay', { order, via })
      } catch (error) {
        const later = error instanceof Refused && ['busy', 'rate_limited'].includes(error.refusal.code)
        if (!later || tries === most) throw error
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
