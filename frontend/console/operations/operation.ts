import { ref, shallowRef } from 'vue'
import { newKey } from '../../src/checkout/attempt'
import { Lost, Refused } from '../../src/live/ops'
import { usePause } from '../../src/timers'
import { Conflict } from '../http'
import { useProblem } from '../problem'

/** Number of retries while the outcome is unknown, and the pause between two retries. */
const MAX_RETRIES = 4
const PAUSE_MS = 800

/** Reports whether the outcome is unknown, so that the request must be repeated with the same key. */
function undecided(error: unknown): boolean {
  return error instanceof Lost || (error instanceof Refused && error.refusal.code === 'busy')
}

/**
 * useOperation runs one operation with one idempotency key. It retries after a lost response; the server performs the
 * operation once. If all retries fail, the next attempt with the same content reuses the key.
 */
export function useOperation() {
  const pause = usePause()
  const explain = useProblem()
  const running = ref(false)
  /** A response was lost and a retry is running. */
  const repeating = ref(false)
  const problem = ref('')
  /** The current state of the object, set when its version changed since the operator read it. */
  const conflict = shallowRef<unknown>()
  let open: { content: string; key: string } | undefined

  async function sendWithRetries<T>(send: (key: string) => Promise<T>, key: string): Promise<T> {
    for (let left = MAX_RETRIES; ; left--) {
      try {
        return await send(key)
      } catch (error) {
        if (!undecided(error) || left === 0) throw error
        repeating.value = true
        const retryMs = error instanceof Refused ? error.refusal.retry_ms : 0
        await pause(Math.max(PAUSE_MS, retryMs))
      }
    }
  }

  /**
   * Runs the operation and returns true on success. `content` identifies the operation: an attempt with equal content
   * reuses the key.
   */
  async function run<T>(
    content: unknown,
    send: (key: string) => Promise<T>,
    done: (result: T) => void = () => undefined,
  ): Promise<boolean> {
    if (running.value) return false
    const serialized = JSON.stringify(content)
    if (open?.content !== serialized) open = { content: serialized, key: newKey() }
    running.value = true
    problem.value = ''
    conflict.value = undefined
    try {
      const result = await sendWithRetries(send, open.key)
      open = undefined
      done(result)
      return true
    } catch (error) {
      if (!undecided(error)) open = undefined
      if (error instanceof Conflict) conflict.value = error.current
      problem.value = explain(error)
      return false
    } finally {
      running.value = false
      repeating.value = false
    }
  }

  return { running, repeating, problem, conflict, run }
}
