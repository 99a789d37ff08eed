import { describe, expect, it } from 'vitest'
import { moved, replaced } from './order'

describe('an order', () => {
  it('moves an item by one place, but not beyond the ends of the list', () => {
    expect(moved(['a', 'b', 'c'], 1, -1)).toEqual(['b', 'a', 'c'])
    expect(moved(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'c', 'b'])
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b'])
    expect(moved(['a', 'b'], 1, 1)).toEqual(['a', 'b'])
  })

  it('changes two positions if all positions are unique', () => {
    const [a, b, c] = [{ position: 3 }, { position: 5 }, { position: 9 }]
    expect(replaced([b, a, c])).toEqual([
      { item: b, position: 3 },
      { item: a, position: 5 },
    ])
    expect(replaced([a, b, c])).toEqual([])
  })

  it('renumbers all items if positions repeat', () => {
    const [a, b, c] = [{ position: 0 }, { position: 0 }, { position: 2 }]
    expect(replaced([b, a, c])).toEqual([{ item: a, position: 1 }])
  })
})
