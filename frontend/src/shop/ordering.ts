import { ref } from 'vue'
import { Refused } from '../live/requests'
import type { LiveSocket } from '../live/socket'
import type { Order, OrderEvent, Welcome } from '../protocol/types'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { useWords } from '../words'
import { useExplain } from './explain'

const PAGE = 20
const RETRY_MS = 1_000

/** The shopper's own orders: reading, hearing, cancelling. */
export function openLedger(socket: LiveSocket) {
  const orders = useOrders()
  const notices = useNotices()
  const words = useWords()
  const explain = useExplain()
  /** Orders whose cancelling is under way. */
  const cancelling = ref(new Set<string>())

  /** Takes a hello and reads the orders again when that is not enough. */
  async function welcomed(welcome: Welcome): Promise<void> {
    if (!orders.welcome(welcome)) return
    try {
      const lost = orders.restart(await socket.request('orders', { limit: PAGE }), welcome.reservations)
      if (lost.length > 0) notices.post('warn', words.value.orders.lost)
    } catch (error) {
      // A lost connection says hello again by itself.
      if (error instanceof Refused)
        setTimeout(() => void welcomed(welcome), error.refusal.retry_ms || RETRY_MS)
    }
  }

  function hear(event: OrderEvent): void {
    const known = orders.byId.get(event.order.id)
    orders.hear(event)
    if (!known || event.order.rev > known.rev) {
      notices.say(words.value.orders.happened[event.order.state](event.order.product_name))
    }
  }

  /** Reads the next older page. */
  async function older(): Promise<void> {
    const last = orders.all.findLast((order) => order.state !== 'reserved')
    try {
      orders.append(await socket.request('orders', { limit: PAGE, ...(last ? { before: last.id } : {}) }))
    } catch (error) {
      explain(error)
    }
  }

  /** Cancels an order. Repeating it after a lost connection is safe; the event tells the outcome in any case. */
  async function cancel(order: Order): Promise<void> {
    if (cancelling.value.has(order.id)) return
    cancelling.value.add(order.id)
    try {
      await socket.request('cancel', { order: order.id })
    } catch (error) {
      explain(error)
    } finally {
      cancelling.value.delete(order.id)
    }
  }

  return { cancelling, welcomed, hear, older, cancel }
}
