import { describe, expect, it } from 'vitest'
import {
  dayAfter,
  instantsOf,
  isDay,
  isKnownZone,
  mondayOf,
  partOfDay,
  localTimeOf,
  windowText,
} from './zone'

const at = (iso: string): number => Date.parse(iso)

describe("the shop's time zone", () => {
  it("does not depend on the browser's time zone", () => {
    expect(localTimeOf(at('2026-11-21T16:30:00Z'), 'Asia/Shanghai')).toEqual({
      day: '2026-11-22',
      time: '00:30',
    })
    expect(localTimeOf(at('2026-11-21T16:30:07Z'), 'UTC').time).toBe('16:30:07')
    expect(windowText(at('2026-11-21T02:00:00Z'), at('2026-11-21T04:00:00Z'), 'Asia/Shanghai')).toBe(
      '2026-11-21 10:00 – 12:00',
    )
    expect(windowText(at('2026-11-21T14:00:00Z'), at('2026-11-21T18:00:00Z'), 'Asia/Shanghai')).toBe(
      '2026-11-21 22:00 – 2026-11-22 02:00',
    )
  })

  it('ends a day at 24:00', () => {
    const [from, to] = [at('2026-11-21T14:00:00Z'), at('2026-11-21T16:00:00Z')]
    expect(windowText(from, to, 'Asia/Shanghai')).toBe('2026-11-21 22:00 – 24:00')
  })

  it('parses local times, also with seconds', () => {
    expect(instantsOf('2026-11-21', '10:00', 'Asia/Shanghai')).toEqual([at('2026-11-21T02:00:00Z')])
    expect(instantsOf('2026-11-21', '10:00:30', 'America/New_York')).toEqual([at('2026-11-21T15:00:30Z')])
  })

  it('skips an hour in spring and repeats one in autumn', () => {
    expect(instantsOf('2027-03-28', '02:30', 'Europe/Berlin')).toEqual([])
    expect(instantsOf('2027-03-28', '03:30', 'Europe/Berlin')).toEqual([at('2027-03-28T01:30:00Z')])
    expect(instantsOf('2026-10-25', '02:30', 'Europe/Berlin')).toEqual([
      at('2026-10-25T00:30:00Z'),
      at('2026-10-25T01:30:00Z'),
    ])
    expect(instantsOf('2026-10-25', '03:30', 'Europe/Berlin')).toHaveLength(1)
  })

  it('rejects invalid times', () => {
    for (const [day, time] of [
      ['', '10:00'],
      ['2026-11-21', ''],
      ['2026-13-01', '10:00'],
      ['2026-11-21', '25:00'],
    ] as const)
      expect(instantsOf(day, time, 'UTC')).toEqual([])
    expect(isKnownZone('Mars/Base')).toBe(false)
    expect(isKnownZone('Europe/Berlin')).toBe(true)
  })
})

describe('days', () => {
  it('are added across months and years', () => {
    expect(dayAfter('2026-12-31', 1)).toBe('2027-01-01')
    expect(dayAfter('2027-03-01', -1)).toBe('2027-02-28')
    expect(mondayOf('2026-11-22')).toBe('2026-11-16')
    expect(mondayOf('2026-11-16')).toBe('2026-11-16')
  })

  it('are distinguished from invalid dates', () => {
    expect(['2026-11-21', '2026-02-30', '2026-1-1', 'today', ''].map(isDay)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('contain instants at the right fraction of the day', () => {
    const zone = 'Asia/Shanghai'
    expect(partOfDay(at('2026-11-21T04:00:00Z'), '2026-11-21', zone)).toBe(0.5)
    expect(partOfDay(at('2026-11-20T04:00:00Z'), '2026-11-21', zone)).toBe(0)
    expect(partOfDay(at('2026-11-21T16:00:00Z'), '2026-11-21', zone)).toBe(1)
  })
})
