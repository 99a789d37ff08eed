// @vitest-environment happy-dom
import { createApp } from 'vue'
import { beforeEach, expect, it, vi } from 'vitest'
import { isSheetOpen, router } from '../router'
import { shopKey, type Shop } from '../shop/open'
import { useAccountSheet } from '../stores/accountsheet'
import { freshStores } from '../stores/define'
import ShopSheets from './ShopSheets.vue'

vi.mock('./account/AccountSheet.vue', () => ({ __esModule: true, default: { render: () => null } }))

beforeEach(freshStores)

it('a link that was opened while the page loaded opens its sheet and leaves the address bar', async () => {
  await router.push('/')
  const changed = new Promise((resolve) => window.addEventListener('hashchange', resolve, { once: true }))
  window.location.hash = '#activate=secret'
  await changed
  const app = createApp(ShopSheets).use(router)
  app.provide(shopKey, {} as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
  await vi.waitFor(() => expect(isSheetOpen('account')).toBe(true))
  expect(useAccountSheet().token).toBe('secret')
  expect(window.location.href).not.toContain('secret')
  app.unmount()
})
