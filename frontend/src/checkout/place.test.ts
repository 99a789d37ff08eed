import { describe, expect, it } from 'vitest'
import { placeOf, settledOf, waitOf } from './place'

describe('place', () => {
  it.each([
    [91, 78, 12],
    [79, 78, 0],
    [79, 90, 0],
    [1, 0, 0],
  ])('ticket %i with %i done is place %i', (ticket, done, place) => {
    expect(placeOf(ticket, done)).toBe(place)
  })

  it('counts in its own portion of a spread sale', () => {
    const sale = { stock: 1, held: 0, sold: 0, done: 90, rate: 8, watching: 1 }
    expect(settledOf(sale)).toEqual({ done: 90, rate: 8 })
    expect(settledOf({ ...sale, dones: [70, 20] })).toEqual({ done: 70, rate: 4 })
    expect(settledOf({ ...sale, dones: [70, 20] }, 1)).toEqual({ done: 20, rate: 4 })
  })

  it('takes about as long as those before it need', () => {
    expect(waitOf(11, 4)).toBe(3_000)
    expect(waitOf(11, 0)).toBeUndefined()
  })
})
