// @vitest-environment happy-dom
import { createApp } from 'vue'
import { beforeEach, expect, it, vi } from 'vitest'
import { callServer } from '../account/http'
import { Lost, Refused } from '../live/ops'
import { router } from '../router'
import { shopKey, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import TextSheet from './TextSheet.vue'

vi.mock('../account/http')

beforeEach(() => {
  freshStores()
  usePreferences().setLang('en')
  vi.spyOn(console, 'warn').mockReturnValue()
})

const notFound = new Refused({ code: 'not_found', message: '', retry_ms: 0, orders: [] })

it.each([
  { error: notFound, text: /may be old/, buttons: 0 },
  { error: new Lost('no response'), text: /No response/, buttons: 1 },
])('a text that fails with $error.name shows $text', async ({ error, text, buttons }) => {
  vi.mocked(callServer).mockRejectedValue(error)
  await router.push('/shop/terms')
  const app = createApp(TextSheet)
  app.provide(shopKey, {} as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
  const alert = () => document.querySelector('[role=alert]')
  await vi.waitFor(() => expect(alert()?.textContent).toMatch(text))
  expect(alert()?.querySelectorAll('button')).toHaveLength(buttons)
  app.unmount()
  document.body.replaceChildren()
})
