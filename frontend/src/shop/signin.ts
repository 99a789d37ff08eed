import type { Session } from '../account/token'
import { backoff } from '../live/backoff'
import { Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useSession } from '../stores/session'
import { onKept } from '../storage'
import { useTimer } from '../timers'

const RETRY_RENEWAL_MS = 20_000

/**
 * Keeps us signed in, as one guest or account for all tabs of this browser: gets a token, replaces it long before it
 * ends, and follows what another tab does. A token that ended is told, never replaced by itself.
 */
export function openSignIn(socket: LiveSocket) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  let failures = 0
  const later = useTimer()

  /** Connects at once, because watching needs no token, and gets one meanwhile. */
  function enter(): void {
    const token = session.token
    if (!token && !session.ended) void sign()
    orders.belongTo(session.user?.id)
    socket.reconnect()
  }

  async function sign(): Promise<void> {
    later.stop()
    // Ready already is who logged in meanwhile.
    if (await session.renew()) return live.ready || live.isBlocked ? undefined : signedIn()
    // Whoever looks at this page now need not be the one who was logged in.
    if (session.ended && session.isAccount) orders.belongTo(undefined)
    if (!session.ended && !session.guestsOff) later.start(backoff(failures++), sign)
  }

  /** A hello that is still to come takes the token along; after one without it, another connection must. */
  function signedIn(): void {
    orders.belongTo(session.user?.id)
    if (socket.isGreeted || live.state.name === 'stopped') socket.reconnect()
  }

  /** The server did not take our token. We watch without one until it is renewed, or told to have ended. */
  function turnedAway(): void {
    session.doubt()
    // The first time the hello of the new connection can take the renewed token along.
    if (failures === 0) void sign()
    else later.start(backoff(failures), sign)
    failures++
    socket.reconnect()
  }

  /** The connection outlived its token. Often a newer one is at hand that could not be told in time. */
  function tokenEnded(): void {
    if (session.usable()) enter()
    else turnedAway()
  }

  /** The token counts no more, by the word of the server. Whoever may have another one gets it. */
  function revoked(): void {
    failures = 0
    if (session.adopt() && session.usable()) signedIn()
    else turnedAway()
  }

  function welcomed(): void {
    if (!live.ready) return
    failures = 0
    plan()
  }

  function plan(): void {
    const ms = session.renewIn()
    if (ms !== undefined) later.start(ms, renew)
  }

  async function renew(): Promise<void> {
    const user = session.user?.id
    if (!(await session.renew())) {
      if (!session.ended) later.start(Math.max(RETRY_RENEWAL_MS, session.left() / 10), renew)
      return
    }
    if (session.user?.id !== user) return signedIn()
    await tellToken()
    plan()
  }

  /** Prolongs the connection. When this fails it ends in time, and the next hello uses the new token. */
  async function tellToken(): Promise<void> {
    const token = session.token
    if (!token || !live.ready) return
    await socket.request('renew', { token }).catch((error: unknown) => {
      if (error instanceof Refused) socket.reconnect()
    })
  }

  /** Another tab has stored a token: a newer one of the same user, or that of another one. */
  onKept('session', () => {
    const { user, ended } = session
    if (!session.adopt()) return
    // Of an account only who it is was stored.
    if (!session.token) return enter()
    if (user?.id !== session.user?.id || ended || !live.ready) return signedIn()
    void tellToken()
    plan()
  })

  /** Becomes the account that a log in gave a token for. */
  function logIn(fresh: Session): void {
    session.logIn(fresh)
    failures = 0
    signedIn()
  }

  /** Is a guest again: the one of before, or a new one. */
  function logOut(): void {
    session.logOut()
    failures = 0
    enter()
  }

  /** Becomes a new guest, as the shopper agreed; false when that fails now. */
  async function startOver(): Promise<boolean> {
    const replaced = await session.replace()
    if (replaced) signedIn()
    return replaced
  }

  /** Signs in with a pasted token; false when it is none. */
  function paste(token: string): boolean {
    const accepted = session.paste(token)
    if (accepted) signedIn()
    return accepted
  }

  return { enter, turnedAway, tokenEnded, revoked, welcomed, logIn, logOut, startOver, paste }
}
