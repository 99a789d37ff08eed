import { beforeEach, describe, expect, it } from 'vitest'
import type { Attempt } from '../checkout/attempt'
import type { OrderEvent, Reservation } from '../protocol/types'
import { order, sale, welcome } from '../testing/samples'
import { freshStores } from './define'
import { useOrders } from './orders'
import { useSales } from './sales'

const attempt: Attempt = { key: 'k-3f9c1d2e', user: '7', sale: '11', qty: 2, product: 'Kettle', pressedAt: 0 }
const receipt = { order: '101', ticket: 9, place: 0, state: 'reserved' as const }
const reservation: Reservation = {
  order: '101',
  sale: '11',
  qty: 2,
  key: attempt.key,
  ticket: 9,
  created_at: 1,
}

function eventOf(over: Parameters<typeof order>[0], cursor = '1-6'): OrderEvent {
  return { ev: 'order', cursor, key: attempt.key, order: order(over) }
}

beforeEach(() => freshStores())

describe('orders', () => {
  it('change from reservation to order, with the data of the sale until then', () => {
    useSales().change(sale())
    const orders = useOrders()
    orders.reserve(attempt, receipt, 1)
    expect(orders.running).toMatchObject([{ state: 'reserved', product_name: 'Kettle', amount_fen: 19_800 }])
    orders.apply(eventOf({ rev: 1 }))
    expect(orders.running).toMatchObject([{ state: 'pending', pay_until: 61_100 }])
    orders.apply(eventOf({ rev: 2, state: 'expired' }))
    expect(orders.running).toEqual([])
    expect(orders.all).toHaveLength(1)
  })

  it('never return to an older rev, in any order of events (P6)', () => {
    const orders = useOrders()
    orders.apply(eventOf({ rev: 2, state: 'cancelled' }))
    orders.apply(eventOf({ rev: 1 }))
    orders.reserve(attempt, receipt, 1)
    expect(orders.all).toMatchObject([{ state: 'cancelled', rev: 2 }])
  })

  it('of a reservation that the shop is checking show it, and no later state returns to it', () => {
    const checked = order({ rev: 0, state: 'reserved', reason: 'checking' })
    const orders = useOrders()
    orders.reserve(attempt, receipt, 1)
    orders.append({ orders: [checked], more: false })
    expect(orders.all).toMatchObject([{ state: 'reserved', reason: 'checking' }])
    orders.apply(eventOf({ rev: 1 }))
    orders.append({ orders: [checked], more: false })
    expect(orders.all).toMatchObject([{ state: 'pending', rev: 1 }])
  })

  it('are found by the key of their attempt', () => {
    const orders = useOrders()
    expect(orders.ofKey(attempt.key)).toBeUndefined()
    orders.apply(eventOf({}))
    expect(orders.ofKey(attempt.key)?.id).toBe('101')
  })

  it('are listed newest first', () => {
    const orders = useOrders()
    orders.append({ orders: [order({ id: '99' }), order({ id: '101' }), order({ id: '100' })], more: true })
    expect(orders.all.map((o) => o.id)).toEqual(['101', '100', '99'])
    expect(orders.more).toBe(true)
  })
})

describe('a hello', () => {
  it('applies missed events and moves the cursor (P6)', () => {
    const orders = useOrders()
    orders.restart({ orders: [], more: false }, [])
    const again = orders.welcome(
      welcome({ cursor: '1-8', missed: [eventOf({ rev: 1 }), eventOf({ rev: 2, state: 'expired' })] }),
    )
    expect(again).toBe(false)
    expect(orders.cursor).toBe('1-8')
    expect(orders.all).toMatchObject([{ state: 'expired' }])
  })

  it('is incomplete at first and after a reset', () => {
    const orders = useOrders()
    expect(orders.welcome(welcome())).toBe(true)
    orders.restart({ orders: [], more: false }, [])
    expect(orders.welcome(welcome())).toBe(false)
    expect(orders.welcome(welcome({ reset: true }))).toBe(true)
  })

  it('reverts, after a reset, a state that the database has lost', () => {
    const orders = useOrders()
    orders.apply(eventOf({ rev: 3, state: 'refunding' }))
    orders.restart({ orders: [eventOf({ rev: 2, state: 'expired' }).order], more: false }, [])
    expect(orders.all).toMatchObject([{ state: 'refunding' }])
    orders.welcome(welcome({ reset: true }))
    orders.restart({ orders: [eventOf({ rev: 2, state: 'expired' }).order], more: false }, [])
    expect(orders.all).toMatchObject([{ state: 'expired', rev: 2 }])
  })

  it('adds reservations of another page or device', () => {
    const orders = useOrders()
    orders.welcome(welcome({ reservations: [reservation] }))
    orders.restart({ orders: [], more: false }, [reservation])
    expect(orders.running).toMatchObject([{ id: '101', state: 'reserved', qty: 2 }])
    expect(orders.ofKey(attempt.key)?.id).toBe('101')
  })

  it('reloads after a missing reservation before it removes it', () => {
    const orders = useOrders()
    orders.restart({ orders: [], more: false }, [])
    orders.reserve(attempt, receipt, 1)
    expect(orders.welcome(welcome())).toBe(true)
    expect(orders.running).toHaveLength(1)
    expect(orders.restart({ orders: [], more: false }, [])).toEqual(['101'])
    expect(orders.all).toEqual([])
  })

  it('of another user starts with no orders', () => {
    const orders = useOrders()
    orders.belongTo('7')
    orders.apply(eventOf({}))
    orders.belongTo('7')
    expect(orders.all).toHaveLength(1)
    orders.belongTo('8')
    expect(orders.all).toEqual([])
    expect(orders.cursor).toBe('')
  })
})
