import { ref } from 'vue'
import { Lost, Refused } from '../live/ops'
import { blockedBy } from '../protocol/blocked'
import type { ErrorCode } from '../protocol/types'
import { useWords } from '../words'
import { useAccountWords } from '../words/account'
import { provideInvalid, type Invalid } from './useInvalid'

/** Replaces the texts of error codes. An object assigns them to fields. */
type Overrides = Partial<Record<ErrorCode, string | Invalid>>

/** The state of one form: whether a request is running, and the errors of the last one. */
export function useSending() {
  const words = useWords()
  const account = useAccountWords()
  const sending = ref(false)
  /** The error of the form as a whole. */
  const problem = ref('')
  const invalid = provideInvalid()
  /** The error code of the last request; undefined if it succeeded or the shop blocks the client. */
  const refused = ref<ErrorCode>()

  /** Replaces the errors at the fields; returns true if all texts are empty. */
  function check(found: Invalid): boolean {
    problem.value = ''
    invalid.value = found
    return Object.values(found).every((text) => !text)
  }

  function explain(error: unknown, overrides: Overrides): string | Invalid {
    const w = account.value.problems
    if (error instanceof Lost) return w.lost
    if (!(error instanceof Refused)) {
      console.error('a form could not be sent:', error)
      return words.value.errors.internal
    }
    const blocked = blockedBy(error)
    if (blocked) return words.value.live.blocked[blocked]
    const { code, retry_ms } = error.refusal
    const special = overrides[code]
    if (special !== undefined) return special
    if (code === 'rate_limited' && retry_ms > 0) return w.wait(Math.ceil(retry_ms / 1000))
    if (code === 'busy') return w.busy
    if (code === 'bad_request') return w.fields
    return words.value.errors[code]
  }

  /** Runs `run` unless a request is running; returns true on success. */
  async function send(run: () => Promise<unknown>, overrides: Overrides = {}): Promise<boolean> {
    if (sending.value) return false
    sending.value = true
    check({})
    refused.value = undefined
    try {
      await run()
      return true
    } catch (error) {
      const found = explain(error, overrides)
      if (typeof found === 'string') problem.value = found
      else invalid.value = found
      refused.value = error instanceof Refused && !blockedBy(error) ? error.refusal.code : undefined
      return false
    } finally {
      sending.value = false
    }
  }

  return { sending, problem, check, refused, send }
}
