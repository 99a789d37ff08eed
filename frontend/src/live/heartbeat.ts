import { Lost, Unreadable } from './ops'
import type { LiveSocket } from './socket'

/** The first round trips come quickly, for a good estimate of the server's clock. */
const FIRST_PAUSES_MS = [0, 150, 300, 600, 1_200]
/** Then so often at least: it follows a clock that drifts. */
const STEADY_MS = 15_000
/** Somebody who looks at the page wants to know soon that the line is dead: after so long without a word it asks. */
const QUIET_MS = 1_500
const LOOK_MS = 250

/**
 * Asks the server for the time again and again on one connection: that measures its clock and notices a
 * connection that died without a word, which a browser does not tell. `heard` takes each answer with the moment of
 * `performance.now()` at which it was asked for. Call it on every welcome; the returned function ends it.
 */
export function startHeartbeat(
  socket: LiveSocket,
  heard: (sentAt: number, serverNow: number) => void,
): () => void {
  let beats = 0
  let stopped = false
  let timer: ReturnType<typeof setTimeout>
  let beatAt = performance.now()

  const beat = async (): Promise<void> => {
    const sentAt = (beatAt = performance.now())
    try {
      const { now } = await socket.request('time', { t0: Math.round(sentAt) })
      if (!stopped) heard(sentAt, now)
    } catch (error) {
      // An answer that cannot be read is a word all the same.
      if (!stopped && error instanceof Lost && !(error instanceof Unreadable)) return socket.reconnect()
    }
    plan()
  }
  const look = (): void => {
    const since = performance.now() - beatAt
    const quiet = !document.hidden && Math.min(socket.quietMs, since) >= QUIET_MS
    if (quiet || since >= STEADY_MS) void beat()
    else plan()
  }
  const plan = (): void => {
    if (stopped) return
    const pause = FIRST_PAUSES_MS[beats++]
    timer = pause === undefined ? setTimeout(look, LOOK_MS) : setTimeout(() => void beat(), pause)
  }
  plan()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
