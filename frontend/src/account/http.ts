import { Lost, Refused } from '../live/ops'
import { parseRefusal } from '../protocol/parse'
import type { ErrorCode, Refusal } from '../protocol/types'

/** Other tabs may wait for a response, so requests need a time limit. */
const REPLY_TIMEOUT_MS = 15_000

export interface RequestOptions {
  body?: unknown
  /** The access token of a guest or an account. */
  token?: string | undefined
  /** Adds the header that marks a request of our own page; required where the cookie authenticates the shopper. */
  byCookie?: boolean
}

/**
 * Calls a route of the shop. Rejects with Refused if the server rejects the call, and with Lost if the outcome is
 * unknown.
 */
export async function callServer(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<unknown> {
  const { body, token, byCookie } = options
  let response: Response
  let content: unknown
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(byCookie ? { 'X-Stampede': '1' } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REPLY_TIMEOUT_MS),
    })
    content = await response.json().catch(() => ({}))
  } catch {
    throw new Lost(`no response to ${method} ${path}`)
  }
  if (response.ok) return content
  throw new Refused(refusalOf(response.status, content))
}

/** The response of an intermediate proxy has no code, so its status is mapped to one. */
const CODES: Record<number, ErrorCode> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
  502: 'busy',
  503: 'busy',
  504: 'busy',
}

function refusalOf(status: number, content: unknown): Refusal {
  try {
    return parseRefusal((content as { error?: unknown }).error)
  } catch {
    return { code: CODES[status] ?? 'internal', message: '', retry_ms: 0, orders: [] }
  }
}
