// @vitest-environment happy-dom
import { beforeEach, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'
import { freshStores } from './define'
import { beforeLang, usePreferences } from './preferences'

beforeEach(() => {
  localStorage.clear()
  freshStores()
})

/** Changes a value as another tab does. */
function storeElsewhere(key: string, value: string | null): void {
  if (value === null) localStorage.removeItem(key)
  else localStorage.setItem(key, value)
  window.dispatchEvent(new StorageEvent('storage', { key }))
}

it('follows language and theme of other tabs without writing them again', async () => {
  const preferences = usePreferences()
  preferences.setLang('en')
  storeElsewhere('stampede.lang', '"zh"')
  storeElsewhere('stampede.theme', '"dark"')
  const write = vi.spyOn(Storage.prototype, 'setItem')
  await nextTick()
  expect([preferences.lang, preferences.theme]).toEqual(['zh', 'dark'])
  storeElsewhere('stampede.theme', null)
  await nextTick()
  expect(preferences.theme).toBeUndefined()
  expect(write).not.toHaveBeenCalled()
})

it('shows a language after its texts are loaded, and keeps the old one if they cannot be loaded', async () => {
  const preferences = usePreferences()
  preferences.setLang('en')
  let loads: Promise<unknown> | undefined = Promise.reject(new Error('lost'))
  beforeLang(() => loads)
  preferences.setLang('zh')
  await nextTick()
  expect([preferences.lang, document.documentElement.lang]).toEqual(['en', 'en'])
  loads = Promise.resolve().then(() => (loads = undefined))
  preferences.setLang('zh')
  expect(preferences.lang).toBe('en')
  await vi.waitFor(() => expect([preferences.lang, document.documentElement.lang]).toEqual(['zh', 'zh-CN']))
})

it('shows the last chosen language if the texts of an earlier choice arrive later', async () => {
  const preferences = usePreferences()
  beforeLang(() => undefined)
  preferences.setLang('en')
  const load = Promise.resolve()
  beforeLang((lang) => (lang === 'zh' ? load : undefined))
  preferences.setLang('zh')
  preferences.setLang('en')
  await load
  await nextTick()
  expect(preferences.lang).toBe('en')
})

it('starts with the stored language, otherwise with the language of the page', () => {
  document.documentElement.lang = 'zh-CN'
  freshStores()
  expect(usePreferences().lang).toBe('zh')
  localStorage.setItem('stampede.lang', '"en"')
  freshStores()
  expect(usePreferences().lang).toBe('en')
})
