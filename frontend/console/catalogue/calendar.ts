import { dayAfter, isDay, mondayOf, partOfDay, wallOf } from '../clock/zone'
import type { Slot } from './types'

/** How much of the calendar is shown. */
export type Span = 'day' | 'week'

/** A slot in the column of a day: where it begins and ends, in hours of that day. */
export interface Block {
  readonly slot: Slot
  readonly from: number
  readonly to: number
}

export interface Column {
  readonly day: string
  readonly blocks: readonly Block[]
}

/** What an address like `week/2026-11-16` shows; without one, or with one that is none, the week of today. */
export function spanOf(
  rest: string,
  today: string,
): { span: Span; first: string; days: number; last: string } {
  const [name, wanted = ''] = rest.split('/')
  const span: Span = name === 'day' ? 'day' : 'week'
  const day = isDay(wanted) ? wanted : today
  const first = span === 'day' ? day : mondayOf(day)
  const days = span === 'day' ? 1 : 7
  return { span, first, days, last: dayAfter(first, days - 1) }
}

/** The slots by days, as the clocks of the zone have them; one over midnight stands in both days. */
export function columnsOf(slots: readonly Slot[], first: string, days: number, zone: string): Column[] {
  return Array.from({ length: days }, (_, i) => {
    const day = dayAfter(first, i)
    const blocks = slots
      .map((slot) => ({
        slot,
        from: 24 * partOfDay(slot.opens_at, day, zone),
        to: 24 * partOfDay(slot.closes_at, day, zone),
      }))
      .filter(({ from, to }) => from < to)
    return { day, blocks }
  })
}

/** The hours that have to be shown so that all slots are seen: the shop's usual day at least. */
export function hoursOf(columns: readonly Column[]): { from: number; to: number } {
  const blocks = columns.flatMap((column) => column.blocks)
  return {
    from: Math.floor(Math.min(8, ...blocks.map(({ from }) => from))),
    to: Math.ceil(Math.max(22, ...blocks.map(({ to }) => to))),
  }
}

/** Where "now" is drawn: in which day, at which hour. */
export function nowAt(now: number, zone: string): { day: string; hour: number } {
  const { day } = wallOf(now, zone)
  return { day, hour: 24 * partOfDay(now, day, zone) }
}
