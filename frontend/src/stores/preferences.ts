import { ref, watch, watchEffect } from 'vue'
import { parseAddress } from '../protocol/parse'
import type { Address } from '../protocol/types'
import { onStoreChange, readStored, writeStored } from '../storage'
import { defineStore } from './define'
import { asReadonly } from './readonly'

export type Lang = 'en' | 'zh'
export type Theme = 'light' | 'dark'

function readOneOf<T extends string>(name: string, words: readonly T[]): T | undefined {
  return readStored(name, (value) => words.find((word) => word === value))
}

/** Loads all texts of a language; undefined if they are loaded. */
type LoadTexts = (lang: Lang) => Promise<unknown> | undefined
let loadTexts: LoadTexts = () => undefined

/** Sets the function that loads texts. A language is shown after its texts are loaded. */
export function beforeLang(load: LoadTexts): void {
  loadTexts = load
}

/** The shopper's settings, stored in this browser. */
export const usePreferences = defineStore('preferences', () => {
  /** The server sets the language of the page from Accept-Language. */
  const browserLang: Lang = (document.documentElement.lang || navigator.language).startsWith('zh')
    ? 'zh'
    : 'en'
  const storedLang = (): Lang => readOneOf('lang', ['en', 'zh']) ?? browserLang
  const storedTheme = (): Theme | undefined => readOneOf('theme', ['light', 'dark'])
  const lang = ref(storedLang())
  let wantedLang = lang.value
  /** Undefined: follow the system. */
  const theme = ref(storedTheme())
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
  // Another tab has changed the setting. Only the setters write, which prevents a loop between tabs.
  onStoreChange('lang', () => showLang(storedLang()))
  onStoreChange('theme', () => (theme.value = storedTheme()))
  watch(address, (value) => writeStored('address', value))
  watch(withoutAddress, (value) => writeStored('noaddress', value || undefined))

  /** Shows a language after its texts are loaded. A failed load keeps the old language. */
  function showLang(wanted: Lang): void {
    wantedLang = wanted
    const loading = loadTexts(wanted)
    if (!loading) lang.value = wanted
    else
      loading.then(
        () => wantedLang === wanted && showLang(wanted),
        () => undefined,
      )
  }

  function setLang(wanted: Lang): void {
    showLang(wanted)
    writeStored('lang', wanted)
  }

  /** Undefined: follow the system. */
  function setTheme(wanted: Theme | undefined): void {
    theme.value = wanted
    writeStored('theme', wanted)
  }

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
    setLang,
    setTheme,
    withoutAddress: asReadonly(withoutAddress),
    /** Sets the delivery address; undefined removes it. */
    setAddress,
    /** Sends no address, although the book may have some. */
    clearAddress,
  }
})
