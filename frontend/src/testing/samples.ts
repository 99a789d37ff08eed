import type { Order, Sale, Slot, Welcome } from '../protocol/types'

/** Sample objects of the server, for tests that need only a field or two. */

export function slot(over: Partial<Slot> = {}): Slot {
  return { id: '1', phase: 'open', opens_at: 1_000, closes_at: 2_000, sales: 1, ...over }
}

export function sale(over: Partial<Sale> = {}): Sale {
  return {
    id: '11',
    slot: '1',
    product: {
      id: '21',
      name: 'Kettle',
      category: 'Kitchen',
      images: [],
      ships: false,
      list_price_fen: 25_900,
    },
    price_fen: 9_900,
    initial: 100,
    added: 0,
    stock: 90,
    held: 10,
    sold: 0,
    limit: 2,
    phase: 'open',
    paused: false,
    challenge: 'none',
    opens_at: 1_000,
    closes_at: 2_000,
    done: 8,
    rate: 1,
    watching: 5,
    ...over,
  }
}

export function order(over: Partial<Order> = {}): Order {
  return {
    id: '101',
    sale: '11',
    product_name: 'Kettle',
    qty: 1,
    price_fen: 9_900,
    amount_fen: 9_900,
    state: 'pending',
    ticket: 9,
    rev: 1,
    created_at: 1_100,
    pay_until: 61_100,
    ...over,
  }
}

export function welcome(over: Partial<Welcome> = {}): Welcome {
  return {
    now: 1_500,
    cursor: '1-5',
    missed: [],
    reset: false,
    reservations: [],
    user: { id: '7', name: 'G' },
    ...over,
  }
}
