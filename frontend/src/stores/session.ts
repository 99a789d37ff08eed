import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { askForGuest, GuestsOff, NotRenewed } from '../account/guest'
import { refreshAccount } from '../account/refresh'
import { keepable, parseKept, sessionOf, type Session } from '../account/token'
import { exclusive } from '../exclusive'
import { keep, recall } from '../storage'
import { useLive } from './live'
import { asReadonly } from './readonly'

const NAME = 'session'
/** The guest that this browser was before it logged in, and is again afterwards. */
const GUEST = 'guest'

/**
 * What the token is worth: `good` as far as we know, `doubted` after the server refused it, `ended` when it cannot be
 * renewed either. An ended one stays until the shopper agrees to become somebody else.
 */
type TokenState = 'good' | 'doubted' | 'ended'

/** Who we are, and the token that proves it: one for all tabs of this browser. */
export const useSession = defineStore('session', () => {
  const live = useLive()
  const session = shallowRef<Session | undefined>(recall(NAME, parseKept))
  const tokenState = ref<TokenState>('good')
  /** The server lets no guests in: a token must be pasted. */
  const guestsOff = ref(false)
  const user = computed(() => session.value?.user)
  /** Logged in to an account, and no guest. */
  const isAccount = computed(() => session.value?.account === true)
  const ended = computed(() => tokenState.value === 'ended')
  /** The token to show to the server; undefined when there is none that it may take. */
  const token = computed(() => (tokenState.value === 'good' ? session.value?.access || undefined : undefined))

  /** How long the token still lives, in milliseconds. */
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

  function take(fresh: Session): void {
    hold(fresh)
    keep(NAME, keepable(fresh))
  }

  /** Takes over what another tab has stored since; true when that is another token than ours, or somebody else. */
  function adopt(): boolean {
    const stored = recall(NAME, parseKept)
    if (!stored || isOurs(stored)) return false
    hold(stored)
    return true
  }

  function isOurs(stored: Session): boolean {
    const ours = session.value
    if (stored.account) return ours?.account === true && stored.user.id === ours.user.id
    return stored.access === ours?.access
  }

  /** The server did not accept the token. */
  function doubt(): void {
    if (session.value) tokenState.value = 'doubted'
  }

  /** Asks for a token of the same user, or as nobody for that of a new guest. */
  async function ask(as: Session | undefined): Promise<boolean> {
    if (adopt() && token.value) return true
    const before = session.value
    const known = as && before
    // Whoever logs in or out while this is asked is somebody else by the time of its answer.
    const isStale = (): boolean => session.value !== before
    try {
      const fresh = known?.account ? await refreshAccount() : await sameGuest(known)
      if (!isStale()) take(fresh)
      return true
    } catch (error) {
      if (isStale()) return usable()
      if (error instanceof NotRenewed) tokenState.value = 'ended'
      if (error instanceof GuestsOff && !usable()) guestsOff.value = true
      return false
    }
  }

  /** Nobody becomes another guest unasked: the orders of the old one would be out of reach. */
  async function sameGuest(guest: Session | undefined): Promise<Session> {
    const fresh = await askForGuest(guest?.access)
    if (guest && fresh.user.id !== guest.user.id) throw new NotRenewed('another guest came back')
    return fresh
  }

  let asking: Promise<boolean> | undefined

  /** Gets a token, for the same user if there was one. False when there is none to be had now. */
  function renew(): Promise<boolean> {
    asking ??= exclusive('guest', () => ask(session.value)).finally(() => (asking = undefined))
    return asking
  }

  function isAsking(): boolean {
    return asking !== undefined
  }

  /** Resolves when nobody asks for a token any more. */
  function settled(): Promise<unknown> {
    return asking ?? Promise.resolve()
  }

  /** Becomes a new guest in place of one whose token has ended; false when that fails now. */
  function replace(): Promise<boolean> {
    return exclusive('guest', () => ask(undefined))
  }

  /** Becomes the account that a log in gave a token for. Another guest than its own waits until it logs out. */
  function logIn(fresh: Session): void {
    const before = session.value
    const isSame = before?.user.id === fresh.user.id
    if (before && !before.account) keep(GUEST, isSame ? undefined : keepable(before))
    take(fresh)
  }

  /** Is the account no more, but the guest of before it, or nobody. */
  function logOut(): void {
    const guest = recall(GUEST, parseKept)
    keep(GUEST, undefined)
    session.value = guest
    tokenState.value = 'good'
    keep(NAME, guest && keepable(guest))
  }

  /** The shopper has another name now. */
  function rename(name: string): void {
    if (session.value) take({ ...session.value, user: { ...session.value.user, name } })
  }

  /** Takes a token that the shopper pasted; false when it is none. */
  function paste(pasted: string): boolean {
    const made = sessionOf(pasted)
    if (made) take(made)
    return made !== undefined
  }

  /**
   * How long until the token should be replaced, in milliseconds; undefined when it never ends. Half of its life is
   * left then, so that who closes the page now can come back for a while.
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
    guestsOff: asReadonly(guestsOff),
    left,
    usable,
    adopt,
    doubt,
    renew,
    isAsking,
    settled,
    replace,
    logIn,
    logOut,
    rename,
    paste,
    renewIn,
  }
})
