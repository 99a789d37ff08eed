import { Lost, Refused } from '../live/ops'
import { fields } from '../protocol/fields'
import { parseRefusal } from '../protocol/parse'
import type { ErrorCode, Refusal } from '../protocol/types'

/** Other tabs may wait for an answer, so it must not take for ever. */
const ANSWER_WITHIN_MS = 15_000

export interface Question {
  body?: unknown
  /** Who asks; a guest's or an account's access token. */
  token?: string | undefined
  /** Says that our own page asks: needed where the browser's cookie speaks for the shopper. */
  byCookie?: boolean
}

/** Asks a route of the shop. Rejects with Refused when it says no, and with Lost when nobody knows. */
export async function askServer(method: string, path: string, question: Question = {}): Promise<unknown> {
  const { body, token, byCookie } = question
  let answer: Response
  let said: unknown
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
        ...(byCookie ? { 'X-Stampede': '1' } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    said = await answer.json().catch(() => ({}))
  } catch {
    throw new Lost(`no answer to ${method} ${path}`)
  }
  if (answer.ok) return said
  throw new Refused(refusalOf(answer.status, said))
}

/** What a proxy in between says has no code: its status has to do. */
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

function refusalOf(status: number, said: unknown): Refusal {
  try {
    return parseRefusal(fields(said, 'answer').error)
  } catch {
    return { code: CODES[status] ?? 'internal', message: '', retry_ms: 0, orders: [] }
  }
}
