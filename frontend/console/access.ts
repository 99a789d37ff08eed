import { defineStore } from 'pinia'
import { ref } from 'vue'
import { parseStored, type Session } from '../src/account/token'
import { Refused } from '../src/live/ops'
import { fields } from '../src/protocol/fields'
import { readStored } from '../src/storage'
import { asReadonly } from '../src/stores/readonly'
import { useSession } from '../src/stores/session'
import { callApi } from './http'

/**
 * Access of the current user: `asking` (not loaded yet), `out` (not logged in), `stranger` (logged in without a console
 * role), `away` (server unreachable), `in` (operator or admin).
 */
export type Access = 'asking' | 'out' | 'stranger' | 'away' | 'in'

/**
 * The console uses the accounts and the cookie of the shop. The access token stays in memory. The role comes from the
 * server's response, never from the token's own claims.
 */
export const useAccess = defineStore('access', () => {
  const session = useSession()
  const access = ref<Access>('asking')
  const role = ref('')

  /** Loads the current user and the role. */
  async function look(): Promise<void> {
    if (!session.isAccount) {
      access.value = 'out'
      return
    }
    try {
      if (!session.usable() && !(await session.renew())) {
        access.value = session.ended ? 'out' : 'away'
        return
      }
      const me = fields(await callApi('GET', '/me', { token: session.token }), 'me')
      role.value = typeof me.role === 'string' ? me.role : ''
      access.value = role.value === 'operator' || role.value === 'admin' ? 'in' : 'stranger'
    } catch (error) {
      const code = error instanceof Refused ? error.refusal.code : undefined
      if (code === 'unauthorized') session.markRejected()
      access.value = code === 'unauthorized' || code === 'forbidden' ? 'out' : 'away'
    }
  }

  async function logIn(fresh: Session): Promise<void> {
    session.logIn(fresh)
    await look()
  }

  function leave(): void {
    session.logOut()
    role.value = ''
    access.value = 'out'
  }

  /** Follows a login or a logout in another tab of this browser. */
  async function follow(): Promise<void> {
    const stored = readStored('session', parseStored)
    if (stored?.account && stored.user.id === session.user?.id && access.value === 'in') return
    session.adopt()
    if (stored?.account) await look()
    else access.value = 'out'
  }

  return { access: asReadonly(access), role: asReadonly(role), look, logIn, leave, follow }
})
