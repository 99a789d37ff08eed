import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../../src/stores/preferences'
import { en, type AftersaleWords } from './words.en'
import { zh } from './words.zh'

export type { AftersaleWords }

/** The texts of the pages for work after a sale, in the operator's language. */
export function useAftersaleWords(): ComputedRef<AftersaleWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
