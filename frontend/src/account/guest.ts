import { parseRefusal } from '../protocol/parse'
import { parseSession, type Session } from './token'

/** The server does not let guests in; a token must come from somewhere else. */
export class GuestsOff extends Error {
  override name = 'GuestsOff'
}

/** The server does not renew the token that was shown: it has ended, or is of another shop. */
export class NotRenewed extends Error {
  override name = 'NotRenewed'
}

/** Other tabs wait for the answer, so it must not take for ever. */
const ANSWER_WITHIN_MS = 10_000

/**
 * Asks for a guest's token. With a token that is still valid the server keeps the same user, which is how a
 * guest renews. Rejects with GuestsOff, with NotRenewed, or with another error when trying again later makes sense.
 */
export async function askForGuest(valid?: string): Promise<Session> {
  const answer = await fetch('/api/v1/auth/guest', {
    method: 'POST',
    headers: valid ? { Authorization: `Bearer ${valid}` } : {},
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  })
  if (answer.ok) return parseSession(await answer.json())
  if (answer.status === 429 || answer.status >= 500) {
    throw new Error(`guest login answered ${String(answer.status)}`)
  }
  if (answer.status === 401) throw new NotRenewed('the token was not taken')
  const body = (await answer.json().catch(() => ({}))) as { error?: unknown }
  throw new GuestsOff(body.error ? parseRefusal(body.error).message : `status ${String(answer.status)}`)
}
