import { Refused } from '../live/ops'
import { askServer } from './http'
import { NotRenewed } from './guest'
import { parseSession, type Session } from './token'

/**
 * Asks for a fresh access token of the account that this browser is logged in to, which its cookie proves. Rejects with
 * NotRenewed when the browser is logged in no more, or with another error when trying again later makes sense.
 */
export async function refreshAccount(): Promise<Session> {
  try {
    const answer = await askServer('POST', '/auth/refresh', { body: {}, byCookie: true })
    return { ...parseSession(answer), account: true }
  } catch (error) {
    const code = error instanceof Refused ? error.refusal.code : undefined
    if (code === 'unauthorized' || code === 'forbidden') throw new NotRenewed('logged in no more')
    throw error
  }
}
