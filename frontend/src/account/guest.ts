import { parseRefusal } from '../protocol/parse'
import { parseSession, type Session } from './token'

/** GuestsOff: the server creates no guests; buying requires a login. */
export class GuestsOff extends Error {
  override name = 'GuestsOff'
}

/** NotRenewed: the server does not renew the token, because it has expired or belongs to another shop. */
export class NotRenewed extends Error {
  override name = 'NotRenewed'
}

/** Other tabs wait for the response, so the request needs a time limit. */
const REPLY_TIMEOUT_MS = 10_000

/**
 * Requests a guest token. With a valid token the server keeps the same user, so this also renews a guest. Rejects with
 * GuestsOff, with NotRenewed, or with another error if a later retry makes sense.
 */
export async function requestGuest(valid?: string): Promise<Session> {
  const response = await fetch('/api/v1/auth/guest', {
    method: 'POST',
    headers: valid ? { Authorization: `Bearer ${valid}` } : {},
    signal: AbortSignal.timeout(REPLY_TIMEOUT_MS),
  })
  if (response.ok) return parseSession(await response.json())
  if (response.status === 429 || response.status >= 500) {
    throw new Error(`the guest login returned status ${String(response.status)}`)
  }
  if (response.status === 401) throw new NotRenewed('the server did not accept the token')
  const body = (await response.json().catch(() => ({}))) as { error?: unknown }
  throw new GuestsOff(body.error ? parseRefusal(body.error).message : `status ${String(response.status)}`)
}
