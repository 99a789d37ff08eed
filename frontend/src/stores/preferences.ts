import { defineStore } from 'pinia'
import { ref, watch, watchEffect } from 'vue'
import { parseAddress } from '../protocol/parse'
import type { Address } from '../protocol/types'
import { keep, recall } from '../storage'
import { asReadonly } from './readonly'

export type Lang = 'en' | 'zh'
export type Theme = 'light' | 'dark'

function among<T extends string>(words: readonly T[]): (value: unknown) => T | undefined {
  return (value) => words.find((word) => word === value)
}

/** What the shopper chose about the page, remembered in this browser. */
export const usePreferences = defineStore('preferences', () => {
  const browserLang: Lang = navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
  const lang = ref<Lang>(recall('lang', among(['en', 'zh'] as const)) ?? browserLang)
  /** Undefined follows the system. */
  const theme = ref<Theme | undefined>(recall('theme', among(['light', 'dark'] as const)))
  /** Where orders go; undefined sends none along. */
  const address = ref<Address | undefined>(recall('address', parseAddress))

  watchEffect(() => {
    const root = document.documentElement
    root.lang = lang.value === 'zh' ? 'zh-CN' : 'en'
    if (theme.value) root.dataset.theme = theme.value
    else delete root.dataset.theme
  })
  watch(lang, (value) => keep('lang', value))
  watch(theme, (value) => keep('theme', value))
  watch(address, (value) => keep('address', value))

  return {
    lang: asReadonly(lang),
    theme: asReadonly(theme),
    address: asReadonly(address),
    speak: (wanted: Lang) => (lang.value = wanted),
    /** Undefined follows the system. */
    paint: (wanted: Theme | undefined) => (theme.value = wanted),
    /** Undefined sends no address along. */
    deliverTo: (wanted: Address | undefined) => (address.value = wanted),
  }
})
