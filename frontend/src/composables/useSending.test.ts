// @vitest-environment happy-dom
import { createApp, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Refused } from '../live/ops'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { useSending } from './useSending'

let app: App
let form: ReturnType<typeof useSending>

beforeEach(() => {
  freshStores()
  app = createApp({
    setup() {
      form = useSending()
      return () => undefined
    },
  })
  app.mount(document.createElement('div'))
})

afterEach(() => app.unmount())

const refuse = (message: string) => () =>
  Promise.reject(new Refused({ code: 'forbidden', message, retry_ms: 0, orders: [] }))

describe('a form of a blocked shopper', () => {
  it.each([
    ['this account is blocked', /account is blocked/, /账号已被封禁/],
    ['this address is blocked by the shop', /blocked your network address/, /网络地址已被商城封禁/],
  ])('shows the reason %s in both languages', async (message, en, zh) => {
    for (const [lang, want] of [['en', en] as const, ['zh', zh] as const]) {
      usePreferences().setLang(lang)
      await form.send(refuse(message), { forbidden: ' ' })
      expect(form.problem.value).toMatch(want)
      expect(form.refused.value).toBeUndefined()
    }
  })

  it('shows its own text for other reasons', async () => {
    await form.send(refuse('the e-mail is not confirmed'), { forbidden: 'own' })
    expect(form.problem.value).toBe('own')
    expect(form.refused.value).toBe('forbidden')
  })
})
