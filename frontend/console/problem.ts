import { Lost, Refused } from '../src/live/ops'
import type { ErrorCode } from '../src/protocol/types'
import { useConsoleWords } from './words'

/**
 * Says in words why something failed: those of `said` for what means something of its own here, else ours for the code
 * with what the server adds.
 */
export function useProblem(): (error: unknown, said?: Partial<Record<ErrorCode, string>>) => string {
  const words = useConsoleWords()
  return (error, said = {}) => {
    if (error instanceof Lost) return words.value.lost
    if (!(error instanceof Refused)) {
      console.error(error)
      return words.value.unknown
    }
    const { code, message } = error.refusal
    const ours = said[code]
    if (ours !== undefined) return ours
    return [words.value.errors[code], sentence(message)].filter(Boolean).join(' ')
  }
}

/** What the server says begins small and ends without a stop, so that it fits into logs as well. */
function sentence(text: string): string {
  const whole = text.slice(0, 1).toUpperCase() + text.slice(1)
  return /[\p{L}\p{N})]$/u.test(whole) ? `${whole}.` : whole
}
