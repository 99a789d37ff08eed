import { defineStore } from 'pinia'
import { ref, watch, watchEffect } from 'vue'
import { parseAddress } from '../protocol/parse'
import type { Address } from '../protocol/types'
import { writeStored, readStored } from '../storage'
import { asReadonly } from './readonly'

export type Lang = 'en' | 'zh'
export type Theme = 'light' | 'dark'

function oneOf<T extends string>(words: readonly T[]): (value: unknown) => T | undefined {
  return (value) => words.find((word) => word === value)
}

/** The shopper's settings, stored in this browser. */
export const usePreferences = defineStore('preferences', () => {
  const browserLang: Lang = navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
  const lang = ref<Lang>(readStored('lang', oneOf(['en', 'zh'] as const)) ?? browserLang)
  /** Undefined: follow the system. */
  const theme = ref<Theme | undefined>(readStored('theme', oneOf(['light', 'dark'] as const)))
  /** The delivery address of orders; undefined sends none. */
  const address = ref<Address | undefined>(readStored('address', parseAddress))
  /** The shopper chose to send no address, independent of the address book. */
  const withoutAddress = ref(readStored('noaddress', (value) => value === true) ?? false)

  watchEffect(() => {
    const root = document.documentElement
    root.lang = lang.value === 'zh' ? 'zh-CN' : 'en'
    if (theme.value) root.dataset.theme = theme.value
    else delete root.dataset.theme
  })
  watch(lang, (value) => writeStored('lang', value))
  watch(theme, (value) => writeStored('theme', value))
  watch(address, (value) => writeStored('address', value))
  watch(withoutAddress, (value) => writeStored('noaddress', value || undefined))

  function setAddress(wanted: Address | undefined): void {
    address.value = wanted
    withoutAddress.value = false
  }

  function clearAddress(): void {
    address.value = undefined
    withoutAddress.value = true
  }

  return {
    lang: asReadonly(lang),
    theme: asReadonly(theme),
    address: asReadonly(address),
    setLang: (wanted: Lang) => (lang.value = wanted),
    /** Undefined: follow the system. */
    setTheme: (wanted: Theme | undefined) => (theme.value = wanted),
    withoutAddress: asReadonly(withoutAddress),
    /** Sets the delivery address; undefined removes it. */
    setAddress,
    /** Sends no address, although the book may have some. */
    clearAddress,
  }
})
