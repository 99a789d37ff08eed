import { dictionary } from './dictionary'
import type { Words } from './en'

export type { Words }

/** The texts in the shopper's language. main.ts loads them before it mounts the page. */
export const { load: loadWords, use: useWords } = dictionary<Words>({
  en: () => import('./en').then(({ en }) => en),
  zh: () => import('./zh').then(({ zh }) => zh),
})
