import { Lost, Refused } from '../src/live/ops'
import { fields } from '../src/protocol/fields'
import { parseRefusal } from '../src/protocol/parse'
import type { ErrorCode, Refusal } from '../src/protocol/types'

const ANSWER_WITHIN_MS = 15_000

export interface Question {
  /** Sent as JSON; a Blob is sent unchanged. */
  body?: unknown
  token?: string | undefined
  /** The idempotency key of an operation: repeated requests run it once. */
  key?: string
  query?: Record<string, string | number | boolean | undefined>
  /** The timeout; longer than the default for files. */
  withinMs?: number
}

/** The object has changed since it was read; `current` is its current state. */
export class Moved extends Refused {
  override name = 'Moved'
  readonly current: unknown

  constructor(refusal: Refusal, current: unknown) {
    super(refusal)
    this.current = current
  }
}

/**
 * Calls the API. Rejects with Moved, with Refused if the server rejects the call, and with Lost if the outcome is
 * unknown.
 */
export async function askApi(method: string, path: string, question: Question = {}): Promise<unknown> {
  const answer = await send(method, path, question)
  const said: unknown = await answer.json().catch(() => ({}))
  if (answer.ok) return said
  throw refused(answer.status, said)
}

/** Like askApi, for a file. */
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

/** The response of an intermediate proxy has no code, so its status is mapped to one. */
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

/** Converts an error response to a Refused. */
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
