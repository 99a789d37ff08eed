import { backoff } from '../live/backoff'
import { Refused } from '../live/requests'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useSession } from '../stores/session'

const RETRY_RENEWAL_MS = 20_000
/** The longest pause that a timer of a browser can hold. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Keeps us signed in: gets a token, replaces it before it ends and when the server does not take it. */
export function openDoor(socket: LiveSocket) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  let failures = 0
  let timer: ReturnType<typeof setTimeout>

  function after(ms: number, what: () => Promise<void>): void {
    clearTimeout(timer)
    timer = setTimeout(() => void what(), Math.min(ms, LONGEST_TIMER_MS))
  }

  /** Connects, with a new guest's token when we have none; without one we can still watch. */
  async function enter(): Promise<void> {
    if (!session.session && !(await session.renew()) && !session.guestsOff) {
      after(backoff(failures++), enter)
      if (live.isLive) return
    }
    connect()
  }

  function connect(): void {
    orders.belongTo(session.user?.id)
    socket.reconnect()
  }

  /** The server did not take our token. */
  function turnedAway(): void {
    session.drop()
    after(failures === 0 ? 0 : backoff(failures), enter)
    failures++
  }

  /** The connection outlived its token. Often a newer one is at hand that could not be told in time. */
  function tokenEnded(): void {
    if (session.usable()) connect()
    else turnedAway()
  }

  function welcomed(): void {
    if (!live.ready) return
    failures = 0
    plan()
  }

  function plan(): void {
    const ms = session.renewIn()
    if (ms !== undefined) after(ms, renew)
  }

  async function renew(): Promise<void> {
    const user = session.user?.id
    if (!(await session.renew())) return after(RETRY_RENEWAL_MS, renew)
    if (session.user?.id !== user) return connect()
    const token = session.session?.access
    if (token && live.isLive) {
      // When this fails the connection ends in time, and the next hello uses the new token.
      await socket.request('renew', { token }).catch((error: unknown) => {
        if (error instanceof Refused) socket.reconnect()
      })
    }
    plan()
  }

  /** Signs in with a pasted token; false when it is none. */
  function paste(token: string): boolean {
    const accepted = session.paste(token)
    if (accepted) connect()
    return accepted
  }

  return { enter, turnedAway, tokenEnded, welcomed, paste }
}
