import { Refused } from '../live/ops'
import { blockedBy } from '../protocol/blocked'
import { callServer } from './http'
import { NotRenewed } from './guest'
import { parseSession, type Session } from './token'

/**
 * Requests a new access token for the account of this browser, authenticated by the cookie. Rejects with NotRenewed if
 * the browser is logged out, or with another error if a later retry makes sense.
 */
export async function refreshAccount(): Promise<Session> {
  try {
    const response = await callServer('POST', '/auth/refresh', { body: {}, byCookie: true })
    return { ...parseSession(response), account: true }
  } catch (error) {
    if (blockedBy(error)) throw error // the login stays valid after the block
    const code = error instanceof Refused ? error.refusal.code : undefined
    if (code === 'unauthorized' || code === 'forbidden') throw new NotRenewed('logged out')
    throw error
  }
}
