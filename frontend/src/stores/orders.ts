import { computed, ref } from 'vue'
import type { Attempt } from '../checkout/attempt'
import { compareIds } from '../format/ids'
import type {
  Address,
  Order,
  OrderEvent,
  OrderPage,
  OrderState,
  Receipt,
  Reservation,
  Welcome,
} from '../protocol/types'
import { defineStore } from './define'
import { asReadonly } from './readonly'
import { useSales } from './sales'

/** Reports whether the order is still in progress. */
export function isRunning(state: OrderState): boolean {
  return state === 'reserved' || state === 'pending'
}

/** Reports whether the delivery address can be changed in this state. */
export function isAddressChangeable(state: OrderState): boolean {
  return isRunning(state) || state === 'paid'
}

/** Reports whether the order can still be paid, by the server's clock. */
export function isPayable(order: Order, now: number): boolean {
  return order.state === 'pending' && (order.pay_until ?? 0) > now
}

/**
 * Reports whether the receipt can be confirmed. While a refund is requested it cannot: the shop decides on the refund
 * first.
 */
export function isReceivable({ state, reason }: Order): boolean {
  return state === 'shipped' && reason !== 'refund_asked'
}

/**
 * The shopper's orders, newest first. Replies, events and pages deliver them in any order; the higher `rev` is the
 * newer version.
 */
export const useOrders = defineStore('orders', () => {
  const sales = useSales()
  const byId = ref(new Map<string, Order>())
  const orders = asReadonly(byId)
  const idOfKey = new Map<string, string>()
  let owner: string | undefined
  /** The cursor of the last received order change; empty on a new page. */
  const cursor = ref('')
  /** Older orders exist that were not loaded. */
  const more = ref(false)
  const loaded = ref(false)

  const all = computed(() => [...orders.value.values()].sort((a, b) => compareIds(b.id, a.id)))
  const running = computed(() => all.value.filter((order) => isRunning(order.state)))

  function upsert(order: Order): void {
    const known = byId.value.get(order.id)
    // Both versions of a reservation have rev 0. Only the one that the shop is checking has a reason.
    if (!known || order.rev > known.rev || (known.rev === 0 && order.reason)) byId.value.set(order.id, order)
  }

  /** Applies the reply of a buy. If the order event arrived first, its order stays. */
  function reserve(attempt: Attempt, receipt: Receipt, now: number): void {
    const { key, sale, qty, address } = attempt
    const { order, ticket } = receipt
    adopt({ order, key, sale, qty, ticket, created_at: now }, address)
  }

  /** Shows a reservation as an order. Until the row exists, name and price are those of the sale. */
  function adopt({ order, key, ...reserved }: Reservation, address?: Address): void {
    idOfKey.set(key, order)
    const sale = sales.byId.get(reserved.sale)
    const price_fen = sale?.price_fen ?? 0
    upsert({
      ...reserved,
      id: order,
      state: 'reserved',
      rev: 0,
      product_name: sale?.product.name ?? '',
      price_fen,
      amount_fen: price_fen * reserved.qty,
      ...(address ? { address } : {}),
    })
  }

  function apply(event: OrderEvent): void {
    idOfKey.set(event.key, event.order.id)
    cursor.value = event.cursor
    upsert(event.order)
  }

  /**
   * Applies the reply of a hello. Returns true if the orders must be read again: at the first hello, after a reset, or
   * if a reservation disappeared without an event.
   */
  function welcome(w: Welcome): boolean {
    // After a reset, the database may lack states that the page has received. So every state that arrives now replaces
    // the known state.
    if (w.reset) byId.value.forEach((order, id) => byId.value.set(id, { ...order, rev: 0 }))
    w.missed.forEach(apply)
    for (const reservation of w.reservations) adopt(reservation)
    cursor.value = w.cursor
    const waiting = new Set(w.reservations.map((r) => r.order))
    const vanished = all.value.some((order) => order.state === 'reserved' && !waiting.has(order.id))
    return !loaded.value || w.reset || vanished
  }

  /**
   * Applies the newest page of orders, after welcome() has returned true. A reservation that is in neither the hello
   * nor the page is lost on the server, which only happens with embedded stores. It is deleted; the deleted ids are
   * returned.
   */
  function restart(page: OrderPage, reservations: readonly Reservation[]): string[] {
    page.orders.forEach(upsert)
    more.value = page.more
    loaded.value = true
    const alive = new Set(reservations.map((r) => r.order))
    const lost = all.value
      .filter((order) => order.state === 'reserved' && !alive.has(order.id))
      .map((o) => o.id)
    lost.forEach((id) => byId.value.delete(id))
    return lost
  }

  function append(page: OrderPage): void {
    page.orders.forEach(upsert)
    more.value = page.more
  }

  function ofKey(key: string): Order | undefined {
    return byId.value.get(idOfKey.get(key) ?? '')
  }

  /** Sets the owner of the orders; orders of another user are deleted. */
  function belongTo(user: string | undefined): void {
    if (user === owner) return
    owner = user
    byId.value.clear()
    idOfKey.clear()
    cursor.value = ''
    more.value = loaded.value = false
  }

  return {
    byId: orders,
    cursor: asReadonly(cursor),
    more: asReadonly(more),
    loaded: asReadonly(loaded),
    all,
    running,
    upsert,
    reserve,
    apply,
    belongTo,
    welcome,
    restart,
    append,
    ofKey,
  }
})
