import type { Session } from '../account/token'
import { backoff } from '../live/backoff'
import { Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useSession } from '../stores/session'
import { onStoreChange } from '../storage'
import { useTimer } from '../timers'

const RETRY_RENEWAL_MS = 20_000

/**
 * Keeps the page signed in, with one guest or account for all tabs of this browser. It gets a token, replaces it long
 * before it expires, and follows other tabs. An expired guest is reported, never replaced automatically.
 */
export function openSignIn(socket: LiveSocket) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  let failures = 0
  const timer = useTimer()

  /** Connects immediately, because watching needs no token, and requests a token at the same time. */
  function enter(): void {
    const token = session.token
    if (!token && !session.ended) void requestToken()
    orders.belongTo(session.user?.id)
    socket.reconnect()
  }

  async function requestToken(): Promise<void> {
    timer.stop()
    // A login in the meantime has already connected.
    if (await session.renew()) return live.ready || live.isBlocked ? undefined : signedIn()
    // The session has ended, and another person may use the page now, so the account's orders are removed.
    if (session.ended && session.isAccount) orders.belongTo(undefined)
    if (!session.ended && !session.guestsOff) timer.start(backoff(failures++), requestToken)
  }

  /** Uses a new token. If the hello was already sent without it, the page opens a new connection. */
  function signedIn(): void {
    orders.belongTo(session.user?.id)
    if (socket.isHelloSent || live.state.name === 'stopped') socket.reconnect()
  }

  /** The server rejected the token. The page watches without a token while it tries to renew the token. */
  function rejected(): void {
    session.markRejected()
    // On the first failure, the hello of the new connection can already use the renewed token.
    if (failures === 0) void requestToken()
    else timer.start(backoff(failures), requestToken)
    failures++
    socket.reconnect()
  }

  /** The token expired during the connection. The page often has a newer token that it could not send in time. */
  function tokenEnded(): void {
    if (session.usable()) enter()
    else rejected()
  }

  /** The server revoked the token. If another tab has stored a newer one, it is used. */
  function revoked(): void {
    failures = 0
    if (session.adopt() && session.usable()) signedIn()
    else rejected()
  }

  function welcomed(): void {
    if (!live.ready) return
    failures = 0
    planRenewal()
  }

  function planRenewal(): void {
    const ms = session.renewIn()
    if (ms !== undefined) timer.start(ms, renew)
  }

  async function renew(): Promise<void> {
    const user = session.user?.id
    if (!(await session.renew())) {
      if (!session.ended) timer.start(Math.max(RETRY_RENEWAL_MS, session.left() / 10), renew)
      return
    }
    if (session.user?.id !== user) return signedIn()
    await sendToken()
    planRenewal()
  }

  /** Extends the connection. If this fails, the connection ends on time, and the next hello uses the new token. */
  async function sendToken(): Promise<void> {
    const token = session.token
    if (!token || !live.ready) return
    await socket.request('renew', { token }).catch((error: unknown) => {
      if (error instanceof Refused) socket.reconnect()
    })
  }

  /** Another tab has stored a token, of the same user or of another user. */
  onStoreChange('session', () => {
    const { user, ended } = session
    if (!session.adopt()) return
    // An account is stored without its token.
    if (!session.token) return enter()
    if (user?.id !== session.user?.id || ended || !live.ready) return signedIn()
    void sendToken()
    planRenewal()
  })

  /** Switches to the account of a login. */
  function logIn(fresh: Session): void {
    session.logIn(fresh)
    failures = 0
    signedIn()
  }

  /** Switches back to the previous guest, or to a new one. */
  function logOut(): void {
    session.logOut()
    failures = 0
    enter()
  }

  /** Switches to a new guest with the shopper's consent; false if that fails now. */
  async function startOver(): Promise<boolean> {
    const replaced = await session.replace()
    if (replaced) signedIn()
    return replaced
  }

  return { enter, rejected, tokenEnded, revoked, welcomed, logIn, logOut, startOver }
}
