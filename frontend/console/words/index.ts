import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../../src/stores/preferences'
import { en, type ConsoleWords } from './en'
import { zh } from './zh'

export type { ConsoleWords }

/** The console's sentences in the language that the operator reads. */
export function useConsoleWords(): ComputedRef<ConsoleWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? zh : en))
}
