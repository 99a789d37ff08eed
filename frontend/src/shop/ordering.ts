import { ref } from 'vue'
import { useNames } from '../composables/useNames'
import { Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import type { Order, OrderEvent, Welcome } from '../protocol/types'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { useAttempts } from '../stores/attempts'
import { asReadonly } from '../stores/readonly'
import { useSession } from '../stores/session'
import { useTimer } from '../timers'
import { useWords } from '../words'
import { useExplain } from './explain'

const PAGE = 20
const RETRY_MS = 1_000

/** Reads, updates and cancels the shopper's orders. */
export function openOrdering(socket: LiveSocket) {
  const orders = useOrders()
  const attempts = useAttempts()
  const session = useSession()
  const notices = useNotices()
  const names = useNames()
  const words = useWords()
  const explain = useExplain()
  /** Orders with a running cancel request. */
  const cancelling = ref(new Set<string>())
  const retry = useTimer()

  /** Applies a hello reply, and reads the orders again if it is incomplete. */
  async function welcomed(welcome: Welcome): Promise<void> {
    if (!orders.welcome(welcome)) return
    try {
      const page = await socket.request('orders', { limit: PAGE })
      const known = new Map(orders.byId)
      for (const id of orders.restart(page, welcome.reservations)) {
        const order = known.get(id)
        if (order) failReservation(`lost-${id}`, { ...order, reason: 'lost' })
      }
    } catch (error) {
      // After a lost connection, the next hello reads the orders again.
      if (error instanceof Refused) retry.start(error.refusal.retry_ms || RETRY_MS, () => welcomed(welcome))
    }
  }

  function apply(event: OrderEvent): void {
    const known = orders.byId.get(event.order.id)
    orders.apply(event)
    if (known && event.order.rev <= known.rev) return
    const { order } = event
    if (known?.state === order.state) announceChange(order, known)
    else notices.announce(words.value.orders.messages[order.state](names.ofOrder(order)))
    // A reservation without an order is shown on the card of its sale.
    if (order.state === 'refused' && known?.state === 'reserved') failReservation(event.key, order)
  }

  /** Announces a change of an order within its state: a new address, or a reason such as a requested refund. */
  function announceChange({ address, reason = '' }: Order, before: Order): void {
    const w = words.value
    if (address && JSON.stringify(address) !== JSON.stringify(before.address))
      notices.announce(w.delivery.shipsTo(address))
    else if (reason !== before.reason && w.orders.reasons[reason]) notices.announce(w.orders.reasons[reason])
  }

  function failReservation(key: string, order: Order): void {
    const { sale, qty, product_name: product, created_at: pressedAt, reason = '' } = order
    const attempt = { key, user: session.user?.id ?? '', sale, qty, product, pressedAt }
    attempts.end(attempt, { kind: 'undone', reason })
  }

  /** Loads the next older page. */
  async function loadOlder(): Promise<void> {
    const last = orders.all.findLast((order) => order.state !== 'reserved')
    try {
      orders.append(await socket.request('orders', { limit: PAGE, ...(last ? { before: last.id } : {}) }))
    } catch (error) {
      explain(error)
    }
  }

  /** Cancels an order; idempotent. The order event reports the outcome in any case. */
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

  return { cancelling: asReadonly(cancelling), welcomed, apply, loadOlder, cancel }
}
