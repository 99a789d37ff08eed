import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../../src/stores/preferences'
import { en, type AfterWords } from './words.en'
import { zh } from './words.zh'

export type { AfterWords }

/** The sentences of the pages about what comes after a sale, in the language that the operator reads. */
export function useAfterWords(): ComputedRef<AfterWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
