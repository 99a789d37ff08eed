import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../../src/stores/preferences'
import { en, type AfterWords } from './words.en'
import { zh } from './words.zh'

export type { AfterWords }

/** The texts of the pages for work after a sale, in the operator's language. */
export function useAfterWords(): ComputedRef<AfterWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
