import { dayAfter, isDay, mondayOf, partOfDay, localTimeOf } from '../clock/zone'
import type { Slot } from './types'

/** The displayed range of the calendar. */
export type Span = 'day' | 'week'

/** A slot in the column of a day: its start and end in hours of that day. */
export interface Block {
  readonly slot: Slot
  readonly from: number
  readonly to: number
}

export interface Column {
  readonly day: string
  readonly blocks: readonly Block[]
}

/** The range for a path like `week/2026-11-16`. A missing or invalid path returns the current week. */
export function spanOf(
  pathRest: string,
  today: string,
): { span: Span; first: string; days: number; last: string } {
  const [name, wanted = ''] = pathRest.split('/')
  const span: Span = name === 'day' ? 'day' : 'week'
  const day = isDay(wanted) ? wanted : today
  const first = span === 'day' ? day : mondayOf(day)
  const days = span === 'day' ? 1 : 7
  return { span, first, days, last: dayAfter(first, days - 1) }
}

/** The slots grouped by day in the zone. A slot that crosses midnight is in both days. */
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

/** The range of hours that covers all slots, at least 8 to 22. */
export function hoursOf(columns: readonly Column[]): { from: number; to: number } {
  const blocks = columns.flatMap((column) => column.blocks)
  return {
    from: Math.floor(Math.min(8, ...blocks.map(({ from }) => from))),
    to: Math.ceil(Math.max(22, ...blocks.map(({ to }) => to))),
  }
}

/** The position of the current time: day and hour. */
export function nowAt(now: number, zone: string): { day: string; hour: number } {
  const { day } = localTimeOf(now, zone)
  return { day, hour: 24 * partOfDay(now, day, zone) }
}
