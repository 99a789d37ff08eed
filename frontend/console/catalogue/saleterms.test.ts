import { describe, expect, it } from 'vitest'
import { draftOf, lockedTerms, NO_TERMS, ambiguousInstants, termsOf, termsText } from './saleterms'
import type { SaleRecord } from './types'

const zone = 'Asia/Shanghai'
const at = (local: string): number => Date.parse(`${local}+08:00`)
const slot = {
  id: '1',
  phase: 'upcoming',
  opens_at: at('2026-11-21T10:00'),
  closes_at: at('2026-11-21T12:00'),
  sales: 1,
  hidden: false,
}
const sale: SaleRecord = {
  id: '5',
  slot,
  product: { id: '2', name: 'Kettle', images: [] },
  price_fen: 4900,
  initial: 100,
  added: 20,
  limit: 2,
  cap: 12,
  opens_at: at('2026-11-21T10:00:30'),
  closes_at: at('2026-11-21T11:00'),
  phase: 'upcoming',
  paused: false,
  challenge: 'none',
  position: 0,
  loaded: false,
  version: 3,
}

describe('the terms of a sale', () => {
  it("are formatted and parsed in the shop's time zone", () => {
    const draft = draftOf(sale, zone)
    expect(draft).toEqual({
      price_fen: 4900,
      stock: 100,
      limit: 2,
      cap: 12,
      challenge: 'none',
      opens: '2026-11-21T10:00:30',
      closes: '2026-11-21T11:00',
    })
    const { opens_at, closes_at } = termsOf(draft, zone)
    expect([opens_at, closes_at]).toEqual([sale.opens_at, sale.closes_at])
  })

  it('omit empty fields', () => {
    expect(termsOf({ ...NO_TERMS, price_fen: 100 }, zone)).toEqual({
      price_fen: 100,
      stock: 100,
      limit: 1,
      challenge: 'none',
    })
    expect(termsOf({ limit: 3 }, zone)).toEqual({ limit: 3 })
  })

  it('report local times that the time zone skips or repeats', () => {
    expect(
      ambiguousInstants({ opens: '2027-03-28T02:30', closes: '2026-10-25T02:30' }, 'Europe/Berlin'),
    ).toEqual([
      { field: '2027-03-28T02:30', count: 0 },
      { field: '2026-10-25T02:30', count: 2 },
    ])
    expect(ambiguousInstants({ limit: 1 }, zone)).toEqual([])
  })

  it('are locked step by step before the opening', () => {
    const locked = (now: number, change: Partial<SaleRecord> = {}) => [
      ...lockedTerms({ ...sale, ...change }, now),
    ]
    expect(locked(sale.opens_at - 60_000)).toEqual([])
    expect(locked(sale.opens_at - 60_000, { loaded: true })).toEqual(['stock'])
    expect(locked(sale.opens_at - 10_000)).toEqual(['price_fen', 'stock', 'opens', 'closes'])
    expect(locked(sale.closes_at)).toHaveLength(7)
    expect(locked(0, { archived_at: 1 })).toHaveLength(7)
  })

  it('are formatted as text', () => {
    const found = termsText(sale, { planned: (ms) => `@${String(ms)}` }, { none: 'None' })
    expect(found).toMatchObject({
      product: 'Kettle',
      price_fen: '¥49',
      units: '100',
      cap: '12',
      challenge: 'None',
    })
  })
})
