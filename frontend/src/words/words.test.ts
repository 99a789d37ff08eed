import { describe, expect, it } from 'vitest'
import { ERROR_CODES, ORDER_STATES } from '../protocol/types'
import { accountEn } from './account.en'
import { accountZh } from './account.zh'
import { en } from './en'
import { zh } from './zh'

/** All paths to texts in an object. */
function paths(words: object, prefix = ''): string[] {
  return Object.entries(words).flatMap(([key, value]) =>
    typeof value === 'object' ? paths(value as object, `${prefix}${key}.`) : [`${prefix}${key}`],
  )
}

describe('texts', () => {
  it('exist in both languages', () => {
    expect(paths(zh)).toEqual(paths(en))
    expect(paths(accountZh)).toEqual(paths(accountEn))
  })

  it.each([en, zh])('cover every error code and order state', (words) => {
    for (const code of ERROR_CODES) expect(words.errors[code]).toMatch(/\S/)
    for (const state of ORDER_STATES) expect(words.orders.messages[state]('X')).toContain('X')
  })
})
