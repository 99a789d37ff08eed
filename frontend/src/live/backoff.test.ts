import { describe, expect, it } from 'vitest'
import { backoff, mayReconnect } from './backoff'

describe('backoff', () => {
  it('grows from 0.4 to 15 seconds and stays between half and all of its ceiling', () => {
    expect(backoff(0, () => 0)).toBe(200)
    expect(backoff(0, () => 1)).toBe(400)
    expect(backoff(3, () => 1)).toBe(3_200)
    expect(backoff(50, () => 0)).toBe(7_500)
    expect(backoff(50, () => 1)).toBe(15_000)
  })
})

describe('close codes', () => {
  it.each([
    [1000, true],
    [1006, true],
    [4000, true],
    [4499, true],
    [4500, false],
    [4999, false],
  ])('after close code %i, mayReconnect is %s', (code, expected) => {
    expect(mayReconnect(code)).toBe(expected)
  })
})
