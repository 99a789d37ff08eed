import { describe, expect, it } from 'vitest'
import { changesOf, shown } from './diff'

describe('the changes of an operation', () => {
  it('are listed field by field, without unchanged fields', () => {
    const before = { paused: false, limit: 2, product: { name: 'Kettle', id: '1' } }
    const after = { paused: true, limit: 2, product: { name: 'Teapot', id: '1' } }
    expect(changesOf(before, after)).toEqual([
      { name: 'paused', before: 'false', after: 'true' },
      { name: 'product.name', before: 'Kettle', after: 'Teapot' },
    ])
  })

  it('contain all fields of a new object', () => {
    expect(changesOf(undefined, { reason: 'bots' })).toEqual([{ name: 'reason', before: '–', after: 'bots' }])
  })

  it('have formatted amounts and instants', () => {
    const instant = (at: number): string => `at ${String(at)}`
    expect(shown('price_fen', 12_950, instant)).toBe('¥129.50')
    expect(shown('closes_at', 0, instant)).toBe('–')
    expect(shown('until', 7, instant)).toBe('at 7')
    expect(shown('text', '<b>', instant)).toBe('<b>')
    expect(changesOf({ pay: { until: 0 } }, { pay: { until: 7 } }, instant)).toEqual([
      { name: 'pay.until', before: '–', after: 'at 7' },
    ])
  })
})
