import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../stores/preferences'
import { accountEn, type AccountWords } from './account.en'
import { accountZh } from './account.zh'

/** The sentences of the account sheets in the language that the shopper reads. */
export function useAccountWords(): ComputedRef<AccountWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? accountZh : accountEn))
}
