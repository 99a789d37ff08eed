import { describe, expect, it } from 'vitest'
import { columns, share, sorted, stack, tilt } from './figures'
import { parseSaleReport, type Side } from './types'

const side = (of: Partial<Side>): Side => ({
  initial: 100,
  added: 0,
  stock: 0,
  held: 0,
  sold: 0,
  withdrawn: 0,
  ...of,
})

describe('columns', () => {
  const point = (at: number, orders: number) => ({ at, orders, units: orders })

  it('are evenly spaced, with zeros for empty columns', () => {
    expect(columns([point(1_000, 3), point(3_000, 5)], 1_000, 5_000, 1_000)).toEqual({
      columnMs: 1_000,
      at: [1_000, 2_000, 3_000, 4_000],
      orders: [3, 0, 5, 0],
    })
  })

  it('start on the grid and cover a long sale', () => {
    const points = Array.from({ length: 1_440 }, (_, i) => point(i * 60_000, 1))
    const { at, orders } = columns(points, 30_000, 1_440 * 60_000, 60_000)
    expect(at.length).toBeLessThanOrEqual(241)
    expect(at[0]).toBe(0)
    expect(orders.reduce((a, b) => a + b)).toBe(1_440)
  })
})

describe('the balance', () => {
  const even = side({ stock: 40, held: 10, sold: 50 })

  it('is level only while both sides are equal', () => {
    expect(tilt(even, even)).toBe(0)
    expect(tilt(even, side({ stock: 41, held: 10, sold: 50 }))).toBeGreaterThan(1)
    expect(tilt(side({ stock: 41, held: 9, sold: 50 }), even)).toBeLessThan(-1)
    expect(tilt(even, side({ stock: 90_000 }))).toBeLessThanOrEqual(5)
  })

  it('stacks units without a gap and shows small numbers', () => {
    const layers = stack(side({ stock: 1, sold: 99_999 }), 100_000, 200, 150)
    expect(layers.map(({ part }) => part)).toEqual(['sold', 'stock'])
    expect(layers[1]?.height).toBe(2)
    expect(layers[1]?.y).toBeCloseTo((layers[0]?.y ?? 0) - 2)
  })
})

it('sorts failed states last', () => {
  const countOf = (state: string, orders: number) => ({ state, orders, reason: '', units: 0, amount_fen: 0 })
  const names = sorted([countOf('expired', 9), countOf('paid', 2), countOf('pending', 3)]).map(
    ({ state }) => state,
  )
  expect(names).toEqual(['pending', 'paid', 'expired'])
})

it('a share above zero is never shown as 0 %', () => {
  expect([share(0, 5), share(1, 1_000), share(1, 3), share(5, 0)]).toEqual(['0 %', '< 1 %', '33 %', '0 %'])
})

describe('a report', () => {
  const balance = { redis: side({}), database: side({}), loaded: true, waiting: 0, failures: [] }
  const minimal = {
    sale: '8',
    product: 'Lamp',
    price_fen: 4900,
    opens_at: 1,
    closes_at: 2,
    at: 3,
    speed: { seconds: [{ at: 1, orders: 2, units: 3 }], minutes: [], peak: 2 },
    states: [{ state: 'paid', orders: 1, units: 1, amount_fen: 4900 }],
    money: { paid_fen: 4900, refunded_fen: 0, refunding_fen: 0, net_fen: 4900 },
    balance,
  }

  it('is parsed without the optional fields', () => {
    const r = parseSaleReport(minimal)
    expect(r.to_pay).toBeUndefined()
    expect(r.buys).toBeUndefined()
    expect(r.states[0]?.reason).toBe('')
  })

  it('is parsed with all fields', () => {
    const waits = { orders: 5, p50_ms: 12, p99_ms: 80 }
    const away = [{ layer: 'node', code: 'sold_out', buys: 7 }]
    const buys = { attempts: 9, reserved: 2, rejected: away, to_order: waits }
    expect(parseSaleReport({ ...minimal, to_pay: waits, buys }).buys).toEqual(buys)
  })

  it('is rejected without the amounts', () => {
    expect(() => parseSaleReport({ ...minimal, money: undefined })).toThrow('money')
  })
})
