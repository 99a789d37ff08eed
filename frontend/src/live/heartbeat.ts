import type { ServerClock } from './clock'
import { Lost } from './requests'
import type { LiveSocket } from './socket'

/** The first round trips come quickly, for a good estimate of the server's clock; then they keep watch. */
const PAUSES_MS = [0, 150, 300, 600, 1_200]
const STEADY_MS = 15_000

/**
 * Asks the server for the time again and again on one connection: that measures the clock and notices a
 * connection that died without a word, which a browser does not tell. Call it on every welcome; the returned
 * function ends it.
 */
export function startHeartbeat(socket: LiveSocket, clock: ServerClock): () => void {
  let beats = 0
  let stopped = false
  let timer: ReturnType<typeof setTimeout>

  const beat = async (): Promise<void> => {
    const sentAt = clock.elapsed()
    try {
      const { now } = await socket.request('time', { t0: Math.round(sentAt) })
      if (!stopped) clock.answer(sentAt, now)
    } catch (error) {
      if (!stopped && error instanceof Lost) return socket.reconnect()
    }
    plan()
  }
  const plan = (): void => {
    if (!stopped) timer = setTimeout(() => void beat(), PAUSES_MS[beats++] ?? STEADY_MS)
  }
  plan()
  return () => {
    stopped = true
    clearTimeout(timer)
  }
}
