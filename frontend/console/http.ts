import { Lost, Refused } from '../src/live/ops'
import { fields } from './fields'
import { parseRefusal } from '../src/protocol/parse'
import type { ErrorCode, Refusal } from '../src/protocol/types'

const REPLY_TIMEOUT_MS = 15_000

export interface RequestOptions {
  /** Sent as JSON; a Blob is sent unchanged. */
  body?: unknown
  token?: string | undefined
  /** The idempotency key of an operation: repeated requests run it once. */
  key?: string
  query?: Record<string, string | number | boolean | undefined>
  /** The timeout; longer than the default for files. */
  timeoutMs?: number
}

/** Conflict: the object has changed since it was read; `current` is its current state. */
export class Conflict extends Refused {
  override name = 'Conflict'
  readonly current: unknown

  constructor(refusal: Refusal, current: unknown) {
    super(refusal)
    this.current = current
  }
}

/**
 * Calls the API. Rejects with Conflict, with Refused if the server rejects the call, and with Lost if the outcome is
 * unknown.
 */
export async function callApi(method: string, path: string, options: RequestOptions = {}): Promise<unknown> {
  const response = await send(method, path, options)
  const body: unknown = await response.json().catch(() => ({}))
  if (response.ok) return body
  throw refused(response.status, body)
}

/** Like callApi, for a file. */
export async function downloadFile(path: string, options: RequestOptions = {}): Promise<Blob> {
  const response = await send('GET', path, options)
  if (response.ok) return response.blob()
  throw refused(response.status, await response.json().catch(() => ({})))
}

async function send(
  method: string,
  path: string,
  { body, token, key, query, timeoutMs = REPLY_TIMEOUT_MS }: RequestOptions,
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
      signal: AbortSignal.timeout(timeoutMs),
    })
  } catch {
    throw new Lost(`no response to ${method} ${path}`)
  }
}

function queryOf(query: RequestOptions['query'] = {}): string {
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString()
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
export function refused(status: number, body: unknown): Refused {
  try {
    const { error } = fields(body, 'response')
    const refusal = parseRefusal(error)
    const { current } = fields(error, 'error')
    return current === undefined ? new Refused(refusal) : new Conflict(refusal, current)
  } catch {
    return new Refused({ code: CODES[status] ?? 'internal', message: '', retry_ms: 0, orders: [] })
  }
}
