import { Lost, Refused } from '../src/live/ops'
import { blockedBy } from '../src/protocol/blocked'
import type { ErrorCode } from '../src/protocol/types'
import { useConsoleWords } from './words'

/**
 * Returns a function that formats an error. `overrides` replaces the text of a code; otherwise the default text is
 * used, with the details from the server.
 */
export function useProblem(): (error: unknown, overrides?: Partial<Record<ErrorCode, string>>) => string {
  const words = useConsoleWords()
  return (error, overrides = {}) => {
    if (error instanceof Lost) return words.value.lost
    if (!(error instanceof Refused)) {
      console.error(error)
      return words.value.unknown
    }
    const blocked = blockedBy(error)
    if (blocked) return words.value.login.blocked[blocked]
    const { code, message } = error.refusal
    const special = overrides[code]
    if (special !== undefined) return special
    return [words.value.errors[code], sentence(message)].filter(Boolean).join(' ')
  }
}

/** Server messages begin in lower case and have no final period, because they are also logged. */
function sentence(text: string): string {
  const whole = text.slice(0, 1).toUpperCase() + text.slice(1)
  return /[\p{L}\p{N})]$/u.test(whole) ? `${whole}.` : whole
}
