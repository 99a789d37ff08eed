import { yuan } from '../../src/format/intl'
import type { SaleTerms } from './api'
import type { SaleRecord, Slot } from './types'
import { instantsOf, localTimeOf } from '../clock/zone'

/** The terms of a sale as a form holds them. Instants are local times of the shop, `2026-11-21T10:00`. */
export interface TermsDraft {
  price_fen: number
  stock: number
  limit: number
  /** 0: the default for the limit. */
  cap: number
  opens: string
  closes: string
  challenge: string
}

export const NO_TERMS: TermsDraft = {
  price_fen: 0,
  stock: 0, // an empty field
  limit: 1,
  cap: 0,
  opens: '',
  closes: '',
  challenge: 'none',
}

/** The value of an instant field. */
export function localField(at: number, zone: string): string {
  const { day, time } = localTimeOf(at, zone)
  return `${day}T${time}`
}

/**
 * The instants that the local time in a field can mean: usually one; none if the field is empty or the clocks skip the
 * time; two if the clocks repeat it.
 */
export function instantsIn(field: string, zone: string): number[] {
  const [day = '', time = ''] = field.split('T')
  return instantsOf(day, time, zone)
}

export function windowOf(slot: Slot, zone: string): { opens: string; closes: string } {
  return { opens: localField(slot.opens_at, zone), closes: localField(slot.closes_at, zone) }
}

export function draftOf(sale: SaleRecord, zone: string): TermsDraft {
  const { price_fen, initial, limit, cap, challenge } = sale
  return { price_fen, stock: initial, limit, cap, challenge, ...windowOf({ ...sale.slot, ...sale }, zone) }
}

/** The fields that do not mean exactly one instant, with their number of instants (0 or 2). */
export function ambiguousInstants(
  draft: Partial<TermsDraft>,
  zone: string,
): { field: string; count: number }[] {
  return [draft.opens, draft.closes].flatMap((field) => {
    const count = field === undefined ? 1 : instantsIn(field, zone).length
    return count === 1 ? [] : [{ field: field ?? '', count }]
  })
}

/** The request body for a form. Requires that ambiguousInstants is empty. */
export function termsOf(draft: Partial<TermsDraft>, zone: string): Partial<SaleTerms> {
  const { opens, closes, cap, ...terms } = draft
  const [opensAt] = instantsIn(opens ?? '', zone)
  const [closesAt] = instantsIn(closes ?? '', zone)
  return {
    ...terms,
    ...(cap ? { cap } : {}),
    ...(opensAt === undefined ? {} : { opens_at: opensAt }),
    ...(closesAt === undefined ? {} : { closes_at: closesAt }),
  }
}

/** The slot that a form preselects: the wanted one, otherwise the next upcoming one. `slots` are in order of opening. */
export function preselectedSlot(slots: readonly Slot[], wanted: string | undefined): Slot | undefined {
  return slots.find(({ id }) => id === wanted) ?? slots.find(({ phase }) => phase === 'upcoming')
}

/** Reports whether a price is more than 60 % below the list price. A list price of 0 means none. */
export function isDeepDiscount(priceFen: number, listPriceFen: number): boolean {
  return 5 * priceFen < 2 * listPriceFen
}

/**
 * The price that the operator must type to confirm a sale, in yuan; undefined if no confirmation is needed. `before` is
 * the sale before an edit, or the original of a copy.
 */
export function priceToType(before: SaleRecord | undefined, after: SaleRecord): string | undefined {
  const unchanged = before?.id === after.id && before.price_fen === after.price_fen
  if (unchanged || !isDeepDiscount(after.price_fen, after.product.list_price_fen)) return undefined
  return (after.price_fen / 100).toFixed(after.price_fen % 100 === 0 ? 0 : 2)
}

/** Reports whether confirming the sale opens it at once. A sale that was already open does not count. */
export function opensAtOnce(before: SaleRecord | undefined, after: SaleRecord, now: number): boolean {
  const wasOpen = before?.id === after.id && before.opens_at <= now
  return after.opens_at <= now && !wasOpen
}

/** This long before the opening, in milliseconds, the price and the window become fixed. */
const LOCK_MS = 10_000
/** The fields that are no longer editable. The server makes the final decision and returns the reason. */
export function lockedTerms(sale: SaleRecord, now: number): ReadonlySet<keyof TermsDraft> {
  const all: (keyof TermsDraft)[] = ['price_fen', 'stock', 'limit', 'cap', 'opens', 'closes', 'challenge']
  if (sale.archived_at || now >= sale.closes_at) return new Set(all)
  if (now >= sale.opens_at - LOCK_MS) return new Set(['price_fen', 'stock', 'opens', 'closes'])
  return new Set(sale.loaded ? ['stock'] : [])
}

/** The terms as text, by field name. */
export function termsText(
  sale: SaleRecord,
  clock: { planned: (at: number) => string },
  challenges: Record<string, string>,
): Record<string, string> {
  return {
    product: sale.product.name,
    opens_at: clock.planned(sale.opens_at),
    closes_at: clock.planned(sale.closes_at),
    price_fen: yuan(sale.price_fen),
    units: String(sale.initial),
    limit: String(sale.limit),
    cap: String(sale.cap),
    challenge: challenges[sale.challenge] ?? sale.challenge,
  }
}
