import type { ConsoleWords } from '../words'
import { ambiguousInstants, type TermsDraft } from './saleterms'

/** The message for local times that the time zone skips or repeats; empty if all times are unique. */
export function ambiguousTimes(draft: Partial<TermsDraft>, zone: string, words: ConsoleWords): string {
  const [ambiguous] = ambiguousInstants(draft, zone)
  if (!ambiguous) return ''
  const w = words.catalogue.slots
  if (ambiguous.field === '') return w.timeMissing
  return (ambiguous.count === 0 ? w.skipped : w.twice)(ambiguous.field.replace('T', ' '), zone)
}
