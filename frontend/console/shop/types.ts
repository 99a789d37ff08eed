import { fields, number, numberOr, text } from '../fields'
import { parseTexts } from '../../src/protocol/parse'

/** The banner for all shoppers. */
export interface Notice {
  readonly level: 'info' | 'warning'
  /** The text for all languages without an entry below; empty: no banner for these languages. */
  readonly text: string
  readonly texts: Readonly<Record<string, string>>
  /** Unix milliseconds; absent: until it is withdrawn. */
  readonly until?: number
}

/** A new banner; with a language, a translation of the current banner. */
export interface NewNotice {
  readonly level: Notice['level']
  readonly text: string
  readonly lang?: string
  readonly until?: number
}

/** Degradation switches. */
export interface Switches {
  readonly version: number
  readonly tick_ms: number
  readonly http_buy: boolean
  readonly least_challenge: string
  readonly lists: string
  readonly work_bits: number
}

export const CHALLENGES = ['none', 'pass', 'work', 'captcha'] as const

/** An entry of the block list. */
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

/** A text in the footer of the shopper's page, in one language; empty: the page does not offer it. */
export interface PageText {
  readonly name: string
  readonly lang: string
  readonly text: string
  /** 0: never set. */
  readonly version: number
}

export function parsePageText(value: unknown): PageText {
  const f = fields(value, 'text')
  return {
    name: text(f, 'name'),
    lang: text(f, 'lang'),
    text: text(f, 'text'),
    version: number(f, 'version'),
  }
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
