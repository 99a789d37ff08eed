import { fields, number, numberOr, text, type Fields } from '../fields'

/** One row of the audit log. */
export interface JournalEntry {
  readonly seq: number
  readonly at: number
  readonly actor_id: string
  readonly actor_name: string
  readonly role: string
  readonly via: string
  readonly source: string
  readonly request: string
  readonly kind: string
  readonly object: string
  readonly before: unknown
  readonly after: unknown
  readonly note: string
  readonly hash: string
}

/** The result of a verification of the whole audit log. */
export interface JournalReport {
  readonly rows: number
  readonly ok: boolean
  /** The number and hash of the last row. Operators store it elsewhere to detect a later change. */
  readonly head: string
  /** The first inconsistency and its row. */
  readonly wrong?: string
  readonly at?: number
}

function textOr(f: Fields, name: string): string {
  return typeof f[name] === 'string' ? f[name] : ''
}

export function parseEntry(value: unknown): JournalEntry {
  const f = fields(value, 'entry')
  return {
    seq: number(f, 'seq'),
    at: number(f, 'at'),
    actor_id: textOr(f, 'actor_id'),
    actor_name: textOr(f, 'actor_name'),
    role: textOr(f, 'role'),
    via: textOr(f, 'via'),
    source: textOr(f, 'source'),
    request: textOr(f, 'request'),
    kind: text(f, 'kind'),
    object: text(f, 'object'),
    before: f.before,
    after: f.after,
    note: textOr(f, 'note'),
    hash: textOr(f, 'hash'),
  }
}

export function parseReport(value: unknown): JournalReport {
  const f = fields(value, 'report')
  const head = fields(f.head, 'head')
  const at = numberOr(f, 'at', 0)
  return {
    rows: number(f, 'rows'),
    ok: f.ok === true,
    head: number(head, 'seq') > 0 ? `${String(number(head, 'seq'))}:${text(head, 'hash')}` : '',
    ...(f.wrong === undefined ? {} : { wrong: text(f, 'wrong') }),
    ...(at > 0 ? { at } : {}),
  }
}
