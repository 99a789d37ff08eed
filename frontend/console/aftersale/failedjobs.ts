import { fields, number, text, type Fields } from '../fields'

/** The kinds of failed entries. The names are path segments of the API. */
export type FailedJobKind = 'dead' | 'parked' | 'mails'

/** One failed entry, in a common form for all kinds. */
export interface FailedJob {
  readonly kind: FailedJobKind
  readonly id: string
  /** A short subject: a word or a number. */
  readonly about: string
  /** The order that the entry belongs to. */
  readonly order?: string
  readonly reason: string
  /** Number of attempts. */
  readonly tries: number
  readonly at: number
  /** All fields, with the names that the server uses. */
  readonly details: readonly (readonly [string, string])[]
}

const ID = /^[1-9]\d{0,18}$/

/** Reads an id field. The result is empty if the server could not decode the entry. */
function known<K extends string>(f: Fields, name: K): Partial<Record<K, string>> {
  const value = f[name]
  return typeof value === 'string' && ID.test(value) ? ({ [name]: value } as Partial<Record<K, string>>) : {}
}

const order = (f: Fields): { order?: string } => known(f, 'order')

/** Every field as text; nested fields are named by their path. */
export function detailsOf(value: unknown, before = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] => {
    const path = before ? `${before}.${name}` : name
    if (inner === null || inner === undefined || inner === '') return []
    if (typeof inner === 'object') return detailsOf(inner, path)
    return [[path, typeof inner === 'string' ? inner : JSON.stringify(inner)]]
  })
}

export function parseDeadLetter(value: unknown): FailedJob {
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

export function parsePosting(value: unknown): FailedJob {
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

export function parseMail(value: unknown): FailedJob {
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
