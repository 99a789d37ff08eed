import { Lost, Refused } from '../src/live/ops'
import { fields } from '../src/protocol/fields'
import { parseRefusal } from '../src/protocol/parse'
import type { ErrorCode, Refusal } from '../src/protocol/types'

const ANSWER_WITHIN_MS = 15_000

export interface Question {
  /** Sent as JSON; a Blob is sent as it is. */
  body?: unknown
  token?: string | undefined
  /** Names an act, so that it is done once however often it is asked for. */
  key?: string
  query?: Record<string, string | number | boolean | undefined>
  /** How long an answer may take: longer than usual for files. */
  withinMs?: number
}

/** The server refused because the thing has moved on; `current` is how it is now. */
export class Moved extends Refused {
  override name = 'Moved'
  readonly current: unknown

  constructor(refusal: Refusal, current: unknown) {
    super(refusal)
    this.current = current
  }
}

/** Asks the API. Rejects with Moved, with Refused when the server says no, and with Lost when nobody knows. */
export async function askApi(method: string, path: string, question: Question = {}): Promise<unknown> {
  const answer = await send(method, path, question)
  const said: unknown = await answer.json().catch(() => ({}))
  if (answer.ok) return said
  throw refused(answer.status, said)
}

/** As askApi for a file. */
export async function askFile(path: string, question: Question = {}): Promise<Blob> {
  const answer = await send('GET', path, question)
  if (answer.ok) return answer.blob()
  throw refused(answer.status, await answer.json().catch(() => ({})))
}

async function send(
  method: string,
  path: string,
  { body, token, key, query, withinMs = ANSWER_WITHIN_MS }: Question,
): Promise<Response> {
  const isFile = body instanceof Blob
  try {
    return await fetch(`/api/v1${path}${queryOf(query)}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': isFile ? body.type : 'application/json' }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(key ? { 'Idempotency-Key': key } : {}),
      },
      ...(body === undefined ? {} : { body: isFile ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(withinMs),
    })
  } catch {
    throw new Lost(`no answer to ${method} ${path}`)
  }
}

function queryOf(query: Question['query'] = {}): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
  return text && `?${text}`
}

/** What a proxy in between says has no code: its status has to do. */
const CODES: Record<number, ErrorCode> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'bad_request',
  429: 'rate_limited',
  502: 'busy',
  503: 'busy',
  504: 'busy',
}

/** The refusal that an answer means which is no success. */
export function refused(status: number, said: unknown): Refused {
  try {
    const { error } = fields(said, 'answer')
    const refusal = parseRefusal(error)
    const { current } = fields(error, 'error')
    return current === undefined ? new Refused(refusal) : new Moved(refusal, current)
  } catch {
    return new Refused({ code: CODES[status] ?? 'internal', message: '', retry_ms: 0, orders: [] })
  }
}
