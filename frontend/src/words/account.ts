import { repeated } from '../lazy'
import { usePreferences } from '../stores/preferences'
import type { AccountWords } from './account.en'
import { dictionary } from './dictionary'

/** The texts of the sheets that are loaded on demand, in the shopper's language. */
export const { load: loadAccountWords, use: useAccountWords } = dictionary<AccountWords>({
  en: () => import('./account.en').then(({ accountEn }) => accountEn),
  zh: () => import('./account.zh').then(({ accountZh }) => accountZh),
})

// The sheets wait here for their texts.
const preferences = usePreferences()
for (let lang; lang !== preferences.lang;) {
  lang = preferences.lang
  await repeated(async () => loadAccountWords(preferences.lang))
}
