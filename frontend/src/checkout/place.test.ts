import { describe, expect, it } from 'vitest'
import { placeOf, waitOf } from './place'

describe('place', () => {
  it.each([
    [91, 78, 12],
    [79, 78, 0],
    [79, 90, 0],
    [1, 0, 0],
  ])('ticket %i with %i done is place %i', (ticket, done, place) => {
    expect(placeOf(ticket, done)).toBe(place)
  })

  it('estimates the wait from the preceding tickets', () => {
    expect(waitOf(11, 4)).toBe(3_000)
    expect(waitOf(11, 0)).toBeUndefined()
  })
})
