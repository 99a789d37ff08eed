import type { ConsoleWords } from '../words'
import { oddInstants, type TermsDraft } from './saleterms'

/** Says in words which time of a form the clocks of the shop do not show once; nothing when all is well. */
export function oddTimes(draft: Partial<TermsDraft>, zone: string, words: ConsoleWords): string {
  const [odd] = oddInstants(draft, zone)
  if (!odd) return ''
  const w = words.catalogue.slots
  if (odd.field === '') return w.timeMissing
  return (odd.many === 0 ? w.skipped : w.twice)(odd.field.replace('T', ' '), zone)
}
