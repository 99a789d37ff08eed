import { describe, expect, it } from 'vitest'
import { columnsOf, hoursOf, nowAt, spanOf } from './calendar'
import type { Slot } from './types'

const zone = 'Asia/Shanghai'
const slot = (id: string, opens: string, closes: string): Slot => ({
  id,
  phase: 'upcoming',
  opens_at: Date.parse(`${opens}+08:00`),
  closes_at: Date.parse(`${closes}+08:00`),
  sales: 0,
  hidden: false,
})

describe('the calendar', () => {
  it('shows a day or a week from its Monday', () => {
    expect(spanOf('', '2026-11-22')).toEqual({
      span: 'week',
      first: '2026-11-16',
      days: 7,
      last: '2026-11-22',
    })
    expect(spanOf('day/2026-12-01', '2026-11-22')).toEqual({
      span: 'day',
      first: '2026-12-01',
      days: 1,
      last: '2026-12-01',
    })
    expect(spanOf('week/soon', '2026-11-22').first).toBe('2026-11-16')
  })

  it("places slots in the shop's time zone and splits a slot at midnight", () => {
    const slots = [
      slot('1', '2026-11-16T10:00', '2026-11-16T12:30'),
      slot('2', '2026-11-16T23:00', '2026-11-17T01:00'),
    ]
    const columns = columnsOf(slots, '2026-11-16', 2, zone)
    const found = columns.map(({ blocks }) => blocks.map(({ slot: { id }, from, to }) => [id, from, to]))
    expect(found).toEqual([
      [
        ['1', 10, 12.5],
        ['2', 23, 24],
      ],
      [['2', 0, 1]],
    ])
    expect(hoursOf(columns)).toEqual({ from: 0, to: 24 })
    expect(hoursOf(columnsOf([], '2026-11-16', 7, zone))).toEqual({ from: 8, to: 22 })
  })

  it('shows the position of the current time', () => {
    expect(nowAt(Date.parse('2026-11-16T18:00:00+08:00'), zone)).toEqual({ day: '2026-11-16', hour: 18 })
  })
})
