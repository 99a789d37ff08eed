import { describe, expect, it } from 'vitest'
import { en } from './en'
import { zh } from './zh'

/** The paths of all texts, without the tables of codes that a server may extend. */
function paths(value: object, before = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null ? paths(inner, `${before}${name}.`) : [`${before}${name}`],
  )
}

describe('the texts of the console', () => {
  it('have the same keys in both languages', () => {
    const withoutAlarms = (all: string[]) => all.filter((path) => !path.startsWith('alarms.'))
    expect(withoutAlarms(paths(zh))).toEqual(withoutAlarms(paths(en)))
  })
})
