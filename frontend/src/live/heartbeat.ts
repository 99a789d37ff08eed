import { Lost, Unreadable } from './ops'
import type { LiveSocket } from './socket'

/** The first round trips follow quickly, for a good estimate of the server's clock. */
const FIRST_PAUSES_MS = [0, 150, 300, 600, 1_200]
/** Afterwards, the maximum interval in milliseconds, to follow a drifting clock. */
const MAX_INTERVAL_MS = 15_000
/**
 * While the page is visible, a request also follows after this time without a frame, in milliseconds. This detects a
 * dead connection soon.
 */
const SILENT_MS = 1_500
const CHECK_MS = 250

/**
 * Requests the server's time repeatedly on one connection. This measures the server's clock and detects a dead
 * connection, which the browser does not report. `onTime` receives each reply with the time of its request, by
 * `performance.now()`. Call startHeartbeat on every welcome; the returned function stops it.
 */
export function startHeartbeat(
  socket: LiveSocket,
  onTime: (sentAt: number, serverNow: number) => void,
): () => void {
  let requestCount = 0
  let stopped = false
  let timer: ReturnType<typeof setTimeout>
  let requestedAt = performance.now()

  const requestTime = async (): Promise<void> => {
    const sentAt = (requestedAt = performance.now())
    try {
      const { now } = await socket.request('time', { t0: Math.round(sentAt) })
      if (!stopped) onTime(sentAt, now)
    } catch (error) {
      // An unreadable reply still proves that the connection works.
      if (!stopped && error instanceof Lost && !(error instanceof Unreadable)) return socket.reconnect()
    }
    scheduleNext()
  }
  const checkSilence = (): void => {
    const sinceRequestMs = performance.now() - requestedAt
    const silent = !document.hidden && Math.min(socket.quietMs, sinceRequestMs) >= SILENT_MS
    if (silent || sinceRequestMs >= MAX_INTERVAL_MS) void requestTime()
    else scheduleNext()
  }
  const scheduleNext = (): void => {
    if (stopped) return
    const pause = FIRST_PAUSES_MS[requestCount++]
    timer =
      pause === undefined ? setTimeout(checkSilence, CHECK_MS) : setTimeout(() => void requestTime(), pause)
  }
  scheduleNext()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
