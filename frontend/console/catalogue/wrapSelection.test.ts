import { describe, expect, it } from 'vitest'
import { wrapSelection } from './wrapSelection'

describe('marks', () => {
  it('enclose the selection', () => {
    expect(wrapSelection('say it', 4, 6, '<em>', '</em>')).toEqual({
      text: 'say <em>it</em>',
      from: 8,
      to: 10,
    })
    expect(wrapSelection('', 0, 0, '<p>', '</p>')).toEqual({ text: '<p></p>', from: 3, to: 3 })
  })
})
