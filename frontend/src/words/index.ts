import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../stores/preferences'
import { en, type Words } from './en'
import { zh } from './zh'

export type { Words }

/** The sentences in the language that the shopper reads. */
export function useWords(): ComputedRef<Words> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
