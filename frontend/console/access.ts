import { ref } from 'vue'
import { parseStored, type Session } from '../src/account/token'
import { Refused } from '../src/live/ops'
import { blockedBy } from '../src/protocol/blocked'
import { fields } from './fields'
import { readStored } from '../src/storage'
import { defineStore } from '../src/stores/define'
import { asReadonly } from '../src/stores/readonly'
import { useSession } from '../src/stores/session'
import { callApi } from './http'

/**
 * Access of the current user: `loading`, `loggedOut`, `noRole` (logged in without a console role), `unreachable` (the
 * server does not respond), `account` or `address` (the shop blocks it), or `allowed` (operator or admin).
 */
export type Access = 'loading' | 'loggedOut' | 'noRole' | 'unreachable' | 'account' | 'address' | 'allowed'

/**
 * The console uses the accounts and the cookie of the shop. The access token stays in memory. The role comes from the
 * server's response, never from the token's own claims.
 */
export const useAccess = defineStore('access', () => {
  const session = useSession()
  const access = ref<Access>('loading')
  const role = ref('')

  /** Loads the current user and the role. */
  async function loadUser(): Promise<void> {
    if (!session.isAccount) {
      access.value = 'loggedOut'
      return
    }
    try {
      if (!session.usable() && !(await session.renew())) {
        if (!session.ended) await callApi('GET', '/time') // rejects if the address is blocked
        access.value = session.ended ? 'loggedOut' : 'unreachable'
        return
      }
      const me = fields(await callApi('GET', '/me', { token: session.token }), 'me')
      role.value = typeof me.role === 'string' ? me.role : ''
      access.value = role.value === 'operator' || role.value === 'admin' ? 'allowed' : 'noRole'
    } catch (error) {
      const code = error instanceof Refused ? error.refusal.code : undefined
      if (code === 'unauthorized') session.markRejected()
      const blocked = blockedBy(error)
      if (blocked) access.value = blocked
      else access.value = code === 'unauthorized' || code === 'forbidden' ? 'loggedOut' : 'unreachable'
    }
  }

  async function logIn(newSession: Session): Promise<void> {
    session.logIn(newSession)
    await loadUser()
  }

  function leave(): void {
    session.logOut()
    role.value = ''
    access.value = 'loggedOut'
  }

  /** Applies a login or a logout of another tab of this browser. */
  async function syncFromOtherTab(): Promise<void> {
    const stored = readStored('session', parseStored)
    if (stored?.account && stored.user.id === session.user?.id && access.value === 'allowed') return
    session.adopt()
    if (stored?.account) await loadUser()
    else access.value = 'loggedOut'
  }

  return { access: asReadonly(access), role: asReadonly(role), loadUser, logIn, leave, syncFromOtherTab }
})
