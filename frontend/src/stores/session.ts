import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { askForGuest, GuestsOff } from '../account/guest'
import { parseSession, sessionOf, type Session } from '../account/token'
import { keep, recall } from '../storage'
import { useLive } from './live'

/** How long before its end a token is replaced, in milliseconds; short-lived ones at four fifths of what is left. */
const RENEW_BEFORE_MS = 120_000

/** Who we are, and the token that proves it. */
export const useSession = defineStore('session', () => {
  const live = useLive()
  const session = shallowRef<Session | undefined>(recall('session', parseSession))
  /** The server lets no guests in: a token must be pasted. */
  const guestsOff = ref(false)
  const user = computed(() => session.value?.user)

  function usable(): boolean {
    const s = session.value
    return s !== undefined && (s.expires === 0 || s.expires > live.clock.now() + 1_000)
  }

  function take(fresh: Session): void {
    session.value = fresh
    guestsOff.value = false
    keep('session', { access: fresh.access, user: fresh.user })
  }

  /** The server does not accept the token: it is worth nothing any more. */
  function drop(): void {
    session.value = undefined
    keep('session', undefined)
  }

  let asking: Promise<boolean> | undefined

  async function ask(): Promise<boolean> {
    try {
      take(await askForGuest(usable() ? session.value?.access : undefined))
    } catch (error) {
      if (error instanceof GuestsOff && !usable()) {
        drop()
        guestsOff.value = true
      }
      return false
    } finally {
      asking = undefined
    }
    return true
  }

  /** Gets a new token, for the same user while the old one is valid. False when there is none to be had now. */
  function renew(): Promise<boolean> {
    asking ??= ask()
    return asking
  }

  /** Takes a token that the shopper pasted; false when it is none. */
  function paste(token: string): boolean {
    const pasted = sessionOf(token)
    if (pasted) take(pasted)
    return pasted !== undefined
  }

  /** How long until the token should be replaced, in milliseconds; undefined when it never ends. */
  function renewIn(): number | undefined {
    const expires = session.value?.expires
    if (!expires) return undefined
    const left = expires - live.clock.now()
    return Math.max(0, Math.max(left - RENEW_BEFORE_MS, left * 0.8))
  }

  return { session, user, guestsOff, usable, renew, drop, paste, renewIn }
})
