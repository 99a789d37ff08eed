import { describe, expect, it } from 'vitest'
import {
  ambiguousInstants,
  draftOf,
  isDeepDiscount,
  lockedTerms,
  NO_TERMS,
  opensAtOnce,
  preselectedSlot,
  priceToType,
  termsOf,
  termsText,
} from './saleterms'
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
  product: { id: '2', name: 'Kettle', list_price_fen: 9900, images: [] },
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
    expect(termsOf({ ...NO_TERMS, price_fen: 100, stock: 7 }, zone)).toEqual({
      price_fen: 100,
      stock: 7,
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

describe('a new sale', () => {
  it('has no units until the operator enters them', () => {
    expect(NO_TERMS.stock).toBe(0)
  })

  it('preselects the wanted slot, otherwise the next upcoming one, never an open one', () => {
    const slots = [
      { ...slot, id: '1', phase: 'open' },
      { ...slot, id: '2' },
      { ...slot, id: '3' },
    ]
    expect(preselectedSlot(slots, undefined)?.id).toBe('2')
    expect(preselectedSlot(slots, '1')?.id).toBe('1')
    expect(preselectedSlot(slots.slice(0, 1), undefined)).toBeUndefined()
  })

  it('opens at once if its opening has passed', () => {
    expect(opensAtOnce(undefined, sale, sale.opens_at - 1)).toBe(false)
    expect(opensAtOnce(undefined, sale, sale.opens_at)).toBe(true)
    expect(opensAtOnce(sale, { ...sale, limit: 3 }, sale.opens_at)).toBe(false) // it was open before
    expect(opensAtOnce(sale, { ...sale, opens_at: sale.opens_at - 60_000 }, sale.opens_at - 1)).toBe(true)
    expect(opensAtOnce(sale, { ...sale, id: '6' }, sale.opens_at)).toBe(true) // a copy
  })
})

describe('a price far below the list price', () => {
  const priced = (fen: number): SaleRecord => ({ ...sale, price_fen: fen })

  it('is more than 60 % below it', () => {
    expect(isDeepDiscount(4000, 10_000)).toBe(false) // exactly 60 %
    expect(isDeepDiscount(3999, 10_000)).toBe(true)
    expect(isDeepDiscount(1, 0)).toBe(false) // no list price
  })

  it('must be typed if it is new', () => {
    expect(priceToType(undefined, priced(3960))).toBeUndefined()
    expect(priceToType(undefined, priced(3959))).toBe('39.59')
    expect(priceToType(undefined, priced(1900))).toBe('19')
    expect(priceToType(sale, priced(1990))).toBe('19.90')
    expect(priceToType(priced(1900), { ...priced(1900), limit: 3 })).toBeUndefined()
    expect(priceToType(priced(1900), { ...priced(1900), id: '6' })).toBe('19') // a copy
  })
})
