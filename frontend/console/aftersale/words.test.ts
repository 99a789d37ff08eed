import { describe, expect, it } from 'vitest'
import { en } from './words.en'
import { zh } from './words.zh'

function paths(value: object, before = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null ? paths(inner, `${before}${name}.`) : [`${before}${name}`],
  )
}

describe('the words about what comes after a sale', () => {
  it('are the same in both languages', () => expect(paths(zh)).toEqual(paths(en)))
})
