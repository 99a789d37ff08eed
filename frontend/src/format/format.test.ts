import { describe, expect, it } from 'vitest'
import { countdown, countdownParts } from './countdown'
import { compareIds } from './ids'
import { discount, yuan } from './money'

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

describe('countdown', () => {
  it.each([
    [90_000, '01:30'],
    [1_000, '00:01'],
    [1, '00:01'],
    [0, '00:00'],
    [-5_000, '00:00'],
    [3_723_000, '1:02:03'],
  ])('%i ms are %s', (ms, text) => {
    expect(countdown(ms)).toBe(text)
  })

  it('comes in parts for drawing', () => {
    expect(countdownParts(59_999)).toEqual(['01', '00'])
  })
})

describe('ids', () => {
  it('are ordered as 64-bit numbers, beyond what a number can hold', () => {
    const ids = ['7301444480512000257', '99', '7301444480512000256', '100']
    expect(ids.sort(compareIds)).toEqual(['99', '100', '7301444480512000256', '7301444480512000257'])
  })
})
