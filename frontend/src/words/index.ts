import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../stores/preferences'
import { en, type Words } from './en'
import { zh } from './zh'

export type { Words }

/** The texts in the shopper's language. */
export function useWords(): ComputedRef<Words> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
