import { computed, ref, shallowRef } from 'vue'
import { requestGuest, GuestsOff, NotRenewed } from '../account/guest'
import { refreshAccount } from '../account/refresh'
import { storedPart, parseStored, type Session } from '../account/token'
import { exclusive } from '../exclusive'
import { writeStored, readStored } from '../storage'
import { defineStore } from './define'
import { useLive } from './live'
import { asReadonly } from './readonly'

const NAME = 'session'
/** The storage name of the previous guest. A login stores this guest, and the logout restores it. */
const GUEST = 'guest'

/**
 * The state of the token. `good`: the server has not rejected it. `doubted`: the server has rejected it, and it may be
 * renewable. `ended`: it cannot be renewed; this state lasts until the shopper agrees to become another user.
 */
type TokenState = 'good' | 'doubted' | 'ended'

/** The current user and token, shared by all tabs of this browser. */
export const useSession = defineStore('session', () => {
  const live = useLive()
  const session = shallowRef<Session | undefined>(readStored(NAME, parseStored))
  const tokenState = ref<TokenState>('good')
  /** The server creates no guests: buying requires an account. */
  const guestsOff = ref(false)
  const user = computed(() => session.value?.user)
  /** Logged in to an account, not a guest. */
  const isAccount = computed(() => session.value?.account === true)
  const ended = computed(() => tokenState.value === 'ended')
  /** The token for the server; undefined if the server would not accept it. */
  const token = computed(() => (tokenState.value === 'good' ? session.value?.access || undefined : undefined))

  /** Signed in as a guest, so this server lets guests buy. */
  const isGuest = computed(() => token.value !== undefined && !isAccount.value)

  /** A buy requires a login: the shop has no guests, or the session of the account has ended. */
  const mustLogIn = computed(() => guestsOff.value || (ended.value && isAccount.value))

  /** The remaining lifetime of the token, in milliseconds. */
  function left(): number {
    const expires = session.value?.expires
    return expires ? expires - live.instant() : Infinity
  }

  function usable(): boolean {
    return token.value !== undefined && left() > 1_000
  }

  function hold(fresh: Session): void {
    session.value = fresh
    tokenState.value = 'good'
    guestsOff.value = false
  }

  function store(fresh: Session): void {
    hold(fresh)
    writeStored(NAME, storedPart(fresh))
  }

  /** Adopts the session that another tab has stored; true if its token or user differs from ours. */
  function adopt(): boolean {
    const stored = readStored(NAME, parseStored)
    if (!stored || isOurs(stored)) return false
    hold(stored)
    return true
  }

  function isOurs(stored: Session): boolean {
    const current = session.value
    if (stored.account) return current?.account === true && stored.user.id === current.user.id
    return stored.access === current?.access
  }

  /** The server rejected the token. */
  function markRejected(): void {
    if (session.value) tokenState.value = 'doubted'
  }

  /** Requests a token for the user of `as`, or for a new guest if `as` is undefined. */
  async function requestToken(as: Session | undefined): Promise<boolean> {
    if (adopt() && token.value) return true
    const before = session.value
    const known = as && before
    // A login or logout during the request makes its response stale.
    const isStale = (): boolean => session.value !== before
    try {
      const fresh = known?.account ? await refreshAccount() : await sameGuest(known)
      if (!isStale()) store(fresh)
      return true
    } catch (error) {
      if (isStale()) return usable()
      if (error instanceof NotRenewed) tokenState.value = 'ended'
      if (error instanceof GuestsOff && !usable()) guestsOff.value = true
      return false
    }
  }

  /** Never switches to another guest automatically, because the orders of the old guest would become unreachable. */
  async function sameGuest(guest: Session | undefined): Promise<Session> {
    const fresh = await requestGuest(guest?.access)
    if (guest && fresh.user.id !== guest.user.id) throw new NotRenewed('the server returned another guest')
    return fresh
  }

  let pendingRequest: Promise<boolean> | undefined

  /** Gets a token, for the same user if there was one; false if none is available now. */
  function renew(): Promise<boolean> {
    pendingRequest ??= exclusive('guest', () => requestToken(session.value)).finally(
      () => (pendingRequest = undefined),
    )
    return pendingRequest
  }

  function isRequesting(): boolean {
    return pendingRequest !== undefined
  }

  /** Resolves when no token request is running. */
  function settled(): Promise<unknown> {
    return pendingRequest ?? Promise.resolve()
  }

  /** Replaces a guest whose token has expired by a new guest; false if that fails now. */
  function replace(): Promise<boolean> {
    return exclusive('guest', () => requestToken(undefined))
  }

  /** Switches to the account of a login. A guest with another id is kept until the logout. */
  function logIn(fresh: Session): void {
    const before = session.value
    const isSame = before?.user.id === fresh.user.id
    if (before && !before.account) writeStored(GUEST, isSame ? undefined : storedPart(before))
    store(fresh)
  }

  /** Switches from the account back to the earlier guest, or to no user. */
  function logOut(): void {
    const guest = readStored(GUEST, parseStored)
    writeStored(GUEST, undefined)
    session.value = guest
    tokenState.value = 'good'
    writeStored(NAME, guest && storedPart(guest))
  }

  /** Changes the shopper's name. */
  function rename(name: string): void {
    if (session.value) store({ ...session.value, user: { ...session.value.user, name } })
  }

  /**
   * The time until the token should be replaced, in milliseconds; undefined if it never expires. Half of its lifetime
   * remains then, so that a shopper who closes the page can return for a while.
   */
  function renewIn(): number | undefined {
    const s = session.value
    if (!s?.expires) return undefined
    const life = s.issued ? s.expires - s.issued : left()
    return Math.max(0, left() - life / 2)
  }

  return {
    user,
    token,
    ended,
    isAccount,
    isGuest,
    guestsOff: asReadonly(guestsOff),
    mustLogIn,
    left,
    usable,
    adopt,
    markRejected,
    renew,
    isRequesting,
    settled,
    replace,
    logIn,
    logOut,
    rename,
    renewIn,
  }
})
