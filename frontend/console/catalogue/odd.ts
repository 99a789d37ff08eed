import type { ConsoleWords } from '../words'
import { oddInstants, type TermsDraft } from './saleterms'

/** The message for local times that the time zone skips or repeats; undefined if all times are unique. */
export function oddTimes(draft: Partial<TermsDraft>, zone: string, words: ConsoleWords): string {
  const [odd] = oddInstants(draft, zone)
  if (!odd) return ''
  const w = words.catalogue.slots
  if (odd.field === '') return w.timeMissing
  return (odd.many === 0 ? w.skipped : w.twice)(odd.field.replace('T', ' '), zone)
}
