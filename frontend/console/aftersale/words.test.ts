import { describe, expect, it } from 'vitest'
import { en } from './words.en'
import { zh } from './words.zh'

function paths(value: object, before = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null ? paths(inner, `${before}${name}.`) : [`${before}${name}`],
  )
}

describe('the texts of the aftersale pages', () => {
  it('have the same keys in both languages', () => expect(paths(zh)).toEqual(paths(en)))
})
