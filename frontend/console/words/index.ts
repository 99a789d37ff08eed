import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../../src/stores/preferences'
import { en, type ConsoleWords } from './en'
import { zh } from './zh'

export type { ConsoleWords }

/** The texts of the console in the operator's language. */
export function useConsoleWords(): ComputedRef<ConsoleWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
