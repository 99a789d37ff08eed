import { fields, number, numberOr, text } from '../../src/protocol/fields'
import { parseTexts } from '../../src/protocol/parse'

/** What everybody in the shop is told. */
export interface Notice {
  readonly level: 'info' | 'warning'
  /** For whoever reads none of the languages below; empty: they are told nothing. */
  readonly text: string
  readonly texts: Readonly<Record<string, string>>
  /** Unix milliseconds; without it, until it is taken back. */
  readonly until?: number
}

/** What is said: a new notice, or with a language the same one for those who read that. */
export interface NewNotice {
  readonly level: Notice['level']
  readonly text: string
  readonly lang?: string
  readonly until?: number
}

/** How the shop gives up comfort in order to keep going. */
export interface Switches {
  readonly version: number
  readonly tick_ms: number
  readonly http_buy: boolean
  readonly least_challenge: string
  readonly lists: string
  readonly work_bits: number
}

export const CHALLENGES = ['none', 'pass', 'work', 'captcha'] as const

/** Who is kept out. */
export interface Block {
  readonly id: number
  readonly kind: string
  readonly value: string
  readonly reason: string
  /** 0: until it is removed. */
  readonly until: number
  readonly created_by: string
  readonly created_at: number
}

export function parseNotice(value: unknown): Notice | undefined {
  const { notice } = fields(value, 'notice')
  if (notice === undefined || notice === null) return undefined
  const f = fields(notice, 'notice')
  const until = numberOr(f, 'until', 0)
  return {
    level: f.level === 'info' ? 'info' : 'warning',
    text: text(f, 'text'),
    texts: parseTexts(f.texts),
    ...(until > 0 ? { until } : {}),
  }
}

export function parseSwitches(value: unknown): Switches {
  const f = fields(value, 'switches')
  return {
    version: number(f, 'version'),
    tick_ms: number(f, 'tick_ms'),
    http_buy: f.http_buy === true,
    least_challenge: text(f, 'least_challenge'),
    lists: text(f, 'lists'),
    work_bits: numberOr(f, 'work_bits', 0),
  }
}

export function parseBlock(value: unknown): Block {
  const f = fields(value, 'block')
  return {
    id: number(f, 'id'),
    kind: text(f, 'kind'),
    value: text(f, 'value'),
    reason: typeof f.reason === 'string' ? f.reason : '',
    until: numberOr(f, 'until', 0),
    created_by: typeof f.created_by === 'string' ? f.created_by : '',
    created_at: numberOr(f, 'created_at', 0),
  }
}
