import { computed, type ComputedRef } from 'vue'
import { usePreferences } from '../stores/preferences'
import { accountEn, type AccountWords } from './account.en'
import { accountZh } from './account.zh'

/** The texts of the account sheets in the shopper's language. */
export function useAccountWords(): ComputedRef<AccountWords> {
  const preferences = usePreferences()
  return computed(() => (preferences.lang === 'zh' ? accountZh : accountEn))
}
