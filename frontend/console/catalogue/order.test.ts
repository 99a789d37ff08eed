import { describe, expect, it } from 'vitest'
import { moveItem, changedPositions } from './order'

describe('an order', () => {
  it('moves an item by one place, but not beyond the ends of the list', () => {
    expect(moveItem(['a', 'b', 'c'], 1, -1)).toEqual(['b', 'a', 'c'])
    expect(moveItem(['a', 'b', 'c'], 1, 1)).toEqual(['a', 'c', 'b'])
    expect(moveItem(['a', 'b'], 0, -1)).toEqual(['a', 'b'])
    expect(moveItem(['a', 'b'], 1, 1)).toEqual(['a', 'b'])
  })

  it('changes two positions if all positions are unique', () => {
    const [a, b, c] = [{ position: 3 }, { position: 5 }, { position: 9 }]
    expect(changedPositions([b, a, c])).toEqual([
      { item: b, position: 3 },
      { item: a, position: 5 },
    ])
    expect(changedPositions([a, b, c])).toEqual([])
  })

  it('renumbers all items if positions repeat', () => {
    const [a, b, c] = [{ position: 0 }, { position: 0 }, { position: 2 }]
    expect(changedPositions([b, a, c])).toEqual([{ item: a, position: 1 }])
  })
})
