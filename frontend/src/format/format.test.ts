import { describe, expect, it } from 'vitest'
import { clockTime, countdown, countdownParts, dayAndTime } from './countdown'
import { compareIds } from './ids'
import { duration, fromNow, list, number, plural, unit, yuan } from './intl'
import { discount } from './money'

describe('money', () => {
  it.each([
    [0, '¥0'],
    [5, '¥0.05'],
    [9_900, '¥99'],
    [34_950, '¥349.50'],
    [123_456_700, '¥1,234,567'],
    [-100, '-¥1'],
  ])('%i fen are %s', (fen, text) => {
    expect(yuan(fen)).toBe(text)
  })

  it.each([
    [25_900, 9_900, 61],
    [10_000, 10_000, 0],
    [10_000, 12_000, 0],
    [0, 0, 0],
  ])('from %i to %i fen is %i per cent off', (list, price, off) => {
    expect(discount(list, price)).toBe(off)
  })
})

describe('numbers', () => {
  it.each([
    [0, '0'],
    [2, '2'],
    [2.34, '2.3'],
    [12.34, '12'],
    [12_345, '12,345'],
  ])('%f is %s', (n, text) => {
    expect(number(n)).toBe(text)
  })

  it('have the plural form of the language', () => {
    const forms = { one: '# sale', other: '# sales' }
    expect([0, 1, 2, 1_200].map((n) => plural('en', n, forms))).toEqual([
      '0 sales',
      '1 sale',
      '2 sales',
      '1,200 sales',
    ])
    expect(plural('zh', 1, { other: '# 个活动' })).toBe('1 个活动')
  })

  it('have units', () => {
    expect(unit('en', 5, 'second')).toBe('5 sec')
    expect([1, 30].map((n) => unit('en', n, 'minute', 'long'))).toEqual(['1 minute', '30 minutes'])
    expect(unit('zh', 7, 'day', 'long')).toBe('7天')
  })
})

describe('lists', () => {
  it('are joined in the style of the language', () => {
    expect(list('en', ['create 3', 'change 2'])).toBe('create 3 and change 2')
    expect(list('en', ['api', 'worker'], 'narrow')).toBe('api, worker')
    expect(list('zh', ['新建 3 条', '修改 2 条'])).toBe('新建 3 条和修改 2 条')
    expect(list('en', [])).toBe('')
  })
})

describe('durations', () => {
  it.each([
    [30.4, '30 ms'],
    [4_200, '4.2 sec'],
    [42_000, '42 sec'],
    [120_000, '2 min'],
    [5_400_000 + 1_800_000, '2 hr'],
    [36 * 3_600_000, '2 days'],
  ])('%f ms are %s', (ms, text) => {
    expect(duration('en', ms)).toBe(text)
  })

  it('are in the language', () => {
    expect(duration('zh', 4_200)).toBe('4.2秒')
    expect([1, 5].map((s) => fromNow('en', s))).toEqual(['in 1 second', 'in 5 seconds'])
    expect(fromNow('zh', 5)).toBe('5秒钟后')
  })
})

describe('countdown', () => {
  it.each([
    [90_000, '01:30'],
    [10_000, '00:10'],
    [9_901, '00:10'],
    [9_900, '9.9'],
    [1_000, '1.0'],
    [1, '0.1'],
    [0, '00:00'],
    [-5_000, '00:00'],
    [3_723_000, '1:02:03'],
  ])('%i ms are %s', (ms, text) => {
    expect(countdown(ms)).toBe(text)
  })

  it('is split into parts for drawing', () => {
    expect(countdownParts(59_999)).toEqual(['01', '00'])
  })
})

describe('ids', () => {
  it('are ordered as 64-bit integers', () => {
    const ids = ['7301444480512000257', '99', '7301444480512000256', '100']
    expect(ids.sort(compareIds)).toEqual(['99', '100', '7301444480512000256', '7301444480512000257'])
  })
})

describe('clockTime and dayAndTime', () => {
  it.each(['en', 'zh'])('start the day at 00, in %s', (lang) => {
    const at = new Date(2026, 10, 17, 0, 5).getTime()
    expect(clockTime(at, lang)).toBe('00:05')
    expect(dayAndTime(at, lang)).toMatch(/ 00:05$/)
  })
})
