import { fields, number, text, type Fields } from '../../src/protocol/fields'

/** What the shop could not do by itself, by where it lies; the same word is in the address of the API. */
export type LeftoverKind = 'dead' | 'parked' | 'mails'

/** One such thing, in the same form whatever it is: an operator decides about it. */
export interface Leftover {
  readonly kind: LeftoverKind
  readonly id: string
  /** What it is about, in a word or a number. */
  readonly about: string
  /** The order that it is about. */
  readonly order?: string
  readonly reason: string
  /** How often it was tried. */
  readonly tries: number
  readonly at: number
  /** All there is to know: names as the server has them. */
  readonly details: readonly (readonly [string, string])[]
}

const ID = /^[1-9]\d{0,18}$/

/** An id, unless the entry could not be read: then there is none. */
function known<K extends string>(f: Fields, name: K): Partial<Record<K, string>> {
  const value = f[name]
  return typeof value === 'string' && ID.test(value) ? ({ [name]: value } as Partial<Record<K, string>>) : {}
}

const order = (f: Fields): { order?: string } => known(f, 'order')

/** Every field as text, the nested ones by their paths. */
export function detailsOf(value: unknown, before = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] => {
    const path = before ? `${before}.${name}` : name
    if (inner === null || inner === undefined || inner === '') return []
    if (typeof inner === 'object') return detailsOf(inner, path)
    return [[path, typeof inner === 'string' ? inner : JSON.stringify(inner)]]
  })
}

export function parseLetter(value: unknown): Leftover {
  const f = fields(value, 'letter')
  return {
    kind: 'dead',
    id: text(f, 'id'),
    about: order(f).order ?? text(f, 'id'),
    ...order(f),
    reason: text(f, 'reason'),
    tries: number(f, 'deliveries'),
    at: number(f, 'at'),
    details: detailsOf({
      partition: f.partition,
      ...known(f, 'sale'),
      ...known(f, 'user'),
      fields: f.fields,
    }),
  }
}

export function parsePosting(value: unknown): Leftover {
  const f = fields(value, 'posting')
  const posting = fields(f.posting ?? {}, 'posting')
  return {
    kind: 'parked',
    id: text(f, 'id'),
    about: text(f, 'group'),
    ...order(posting),
    reason: text(f, 'reason'),
    tries: number(f, 'deliveries'),
    at: number(f, 'at'),
    details: detailsOf(posting),
  }
}

export function parseMail(value: unknown): Leftover {
  const f = fields(value, 'mail')
  return {
    kind: 'mails',
    id: text(f, 'id'),
    about: text(f, 'kind'),
    reason: text(f, 'reason'),
    tries: number(f, 'tries'),
    at: number(f, 'at'),
    details: detailsOf({ to: f.to, about: f.about }),
  }
}
