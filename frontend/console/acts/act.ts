import { ref, shallowRef } from 'vue'
import { newKey } from '../../src/checkout/press'
import { Lost, Refused } from '../../src/live/ops'
import { usePause } from '../../src/timers'
import { Moved } from '../http'
import { useProblem } from '../problem'

/** So often an act is asked for again while nobody knows what became of it, and how long is waited between. */
const REPEATS = 4
const PAUSE_MS = 800

/** Whether nobody knows what became of it, so that the same key must be asked again. */
function undecided(error: unknown): boolean {
  return error instanceof Lost || (error instanceof Refused && error.refusal.code === 'busy')
}

/**
 * One act of an operator, carried to its outcome under one key: a lost answer is asked for again, and what was done
 * already is not done twice. When all repeats stay without an answer, the next press with the same content goes on with
 * the same key.
 */
export function useAct() {
  const pause = usePause()
  const explain = useProblem()
  const running = ref(false)
  /** No answer came so far, and it is being asked for again. */
  const repeating = ref(false)
  const problem = ref('')
  /** How the thing is by now, when it has moved on since it was looked at. */
  const moved = shallowRef<unknown>()
  let open: { content: string; key: string } | undefined

  async function carry<T>(send: (key: string) => Promise<T>, key: string): Promise<T> {
    for (let left = REPEATS; ; left--) {
      try {
        return await send(key)
      } catch (error) {
        if (!undecided(error) || left === 0) throw error
        repeating.value = true
        const asked = error instanceof Refused ? error.refusal.retry_ms : 0
        await pause(Math.max(PAUSE_MS, asked))
      }
    }
  }

  /** Does it; true when it is done. `content` tells whether a later press means the same. */
  async function act<T>(
    content: unknown,
    send: (key: string) => Promise<T>,
    done: (answer: T) => void = () => undefined,
  ): Promise<boolean> {
    if (running.value) return false
    const meant = JSON.stringify(content)
    if (open?.content !== meant) open = { content: meant, key: newKey() }
    running.value = true
    problem.value = ''
    moved.value = undefined
    try {
      const answer = await carry(send, open.key)
      open = undefined
      done(answer)
      return true
    } catch (error) {
      if (!undecided(error)) open = undefined
      if (error instanceof Moved) moved.value = error.current
      problem.value = explain(error)
      return false
    } finally {
      running.value = false
      repeating.value = false
    }
  }

  return { running, repeating, problem, moved, act }
}
