import { ref } from 'vue'
import { Lost, Refused } from '../live/ops'
import type { ErrorCode } from '../protocol/types'
import { useWords } from '../words'
import { useAccountWords } from '../words/account'

/** The state of one form: whether a request is running, and the error text of the last one. */
export function useSending() {
  const words = useWords()
  const account = useAccountWords()
  const sending = ref(false)
  const problem = ref('')
  /** The error code of the last request; undefined if it succeeded. */
  const refused = ref<ErrorCode>()

  function explain(error: unknown, overrides: Partial<Record<ErrorCode, string>>): string {
    const w = account.value.problems
    if (error instanceof Lost) return w.lost
    if (!(error instanceof Refused)) {
      console.error('a form could not be sent:', error)
      return words.value.errors.internal
    }
    const { code, retry_ms } = error.refusal
    const special = overrides[code]
    if (special !== undefined) return special
    if (code === 'rate_limited' && retry_ms > 0) return w.wait(Math.ceil(retry_ms / 1000))
    if (code === 'busy') return w.busy
    if (code === 'bad_request') return w.fields
    return words.value.errors[code]
  }

  /** Runs `run` unless a request is running; returns true on success. `overrides` replaces the texts of error codes. */
  async function send(
    run: () => Promise<unknown>,
    overrides: Partial<Record<ErrorCode, string>> = {},
  ): Promise<boolean> {
    if (sending.value) return false
    sending.value = true
    problem.value = ''
    refused.value = undefined
    try {
      await run()
      return true
    } catch (error) {
      problem.value = explain(error, overrides)
      refused.value = error instanceof Refused ? error.refusal.code : undefined
      return false
    } finally {
      sending.value = false
    }
  }

  return { sending, problem, refused, send }
}
