import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { leadingZeros, PrefixHasher } from './sha256'

function hex(words: Int32Array): string {
  return [...words].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

describe('SHA-256', () => {
  it.each([0, 1, 22, 45, 54, 55, 56, 63, 64, 65, 100, 119, 128, 300])(
    'equals the reference for a prefix of %i bytes',
    (length) => {
      const prefix = 'v1.'.repeat(length).slice(0, length)
      const hasher = new PrefixHasher(prefix)
      for (const suffix of ['', '0', '12345', '9007199254740991', 'x'.repeat(40)]) {
        const expected = createHash('sha256')
          .update(prefix + suffix)
          .digest('hex')
        expect(hex(hasher.hash(suffix))).toBe(expected)
      }
    },
  )

  it('accepts a prefix that is not ASCII', () => {
    const expected = createHash('sha256').update('订单:7').digest('hex')
    expect(hex(new PrefixHasher('订单:').hash('7'))).toBe(expected)
  })

  it('counts leading zero bits across words', () => {
    expect(leadingZeros(Int32Array.of(-1, 0))).toBe(0)
    expect(leadingZeros(Int32Array.of(1, -1))).toBe(31)
    expect(leadingZeros(Int32Array.of(0, 0x10000000))).toBe(35)
    expect(leadingZeros(new Int32Array(8))).toBe(256)
  })
})
