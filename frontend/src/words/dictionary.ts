import { computed, type ComputedRef } from 'vue'
import { beforeLang, usePreferences, type Lang } from '../stores/preferences'

interface Dictionary<W> {
  /** Loads the texts of a language; undefined if they are loaded. */
  load(lang: Lang): Promise<unknown> | undefined
  /** The texts in the shown language. */
  use(): ComputedRef<W>
}

const all: Dictionary<unknown>[] = []

/** Texts of which only the languages in use are loaded. Load the shown language before the first use. */
export function dictionary<W>(sources: Record<Lang, () => Promise<W>>): Dictionary<W> {
  const loaded: Partial<Record<Lang, W>> = {}
  const added: Dictionary<W> = {
    load: (lang) => (loaded[lang] ? undefined : sources[lang]().then((words) => (loaded[lang] = words))),
    use() {
      const preferences = usePreferences()
      return computed(() => loaded[preferences.lang] as W)
    },
  }
  all.push(added)
  return added
}

beforeLang((lang) => {
  const loads = all.flatMap((one) => one.load(lang) ?? [])
  return loads.length > 0 ? Promise.all(loads) : undefined
})
