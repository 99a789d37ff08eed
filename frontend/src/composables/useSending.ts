import { ref } from 'vue'
import { Lost, Refused } from '../live/ops'
import type { ErrorCode } from '../protocol/types'
import { useWords } from '../words'
import { useAccountWords } from '../words/account'

/** One form that is sent: whether its answer is awaited, and in words why it was not accepted. */
export function useSending() {
  const words = useWords()
  const account = useAccountWords()
  const sending = ref(false)
  const problem = ref('')
  /** The code of the last refusal; undefined when there was none. */
  const refused = ref<ErrorCode>()

  function explain(error: unknown, said: Partial<Record<ErrorCode, string>>): string {
    const w = account.value.problems
    if (error instanceof Lost) return w.lost
    if (!(error instanceof Refused)) {
      console.error('a form could not be sent:', error)
      return words.value.errors.internal
    }
    const { code, retry_ms } = error.refusal
    const special = said[code]
    if (special !== undefined) return special
    if (code === 'rate_limited' && retry_ms > 0) return w.wait(Math.ceil(retry_ms / 1000))
    if (code === 'busy') return w.busy
    if (code === 'bad_request') return w.fields
    return words.value.errors[code]
  }

  /**
   * Sends what `run` sends, unless something is under way; true when it was accepted. `said` has words for refusals that
   * mean something of their own here.
   */
  async function send(
    run: () => Promise<unknown>,
    said: Partial<Record<ErrorCode, string>> = {},
  ): Promise<boolean> {
    if (sending.value) return false
    sending.value = true
    problem.value = ''
    refused.value = undefined
    try {
      await run()
      return true
    } catch (error) {
      problem.value = explain(error, said)
      refused.value = error instanceof Refused ? error.refusal.code : undefined
      return false
    } finally {
      sending.value = false
    }
  }

  return { sending, problem, refused, send }
}
