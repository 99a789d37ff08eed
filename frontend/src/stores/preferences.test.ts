// @vitest-environment happy-dom
import { beforeEach, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'
import { freshStores } from './define'
import { usePreferences } from './preferences'

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
