// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { createApp, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shopKey, type Shop } from '../shop/open'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useSlots } from '../stores/slots'
import { slot } from '../testing/samples'
import ConnectionBanner from './ConnectionBanner.vue'

let app: App
const announcement = () => useNotices().announcement

beforeEach(() => {
  setActivePinia(createPinia())
  useLive().setState({ name: 'live' })
  useSlots().replace([slot()])
  app = createApp(ConnectionBanner)
  app.provide(shopKey, {} as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
})

describe('the connection banner', () => {
  it('is silent while the connection is live', async () => {
    await nextTick()
    expect(announcement()).toBe('')
  })

  it('announces a lost and a restored connection to screen readers', async () => {
    useLive().setState({ name: 'waiting', delayMs: 1_000 })
    await nextTick()
    expect(announcement()).toMatch(/connection was lost/)
    useLive().setState({ name: 'connecting' })
    await nextTick()
    expect(announcement()).not.toMatch(/again/)
    useLive().setState({ name: 'live' })
    await nextTick()
    expect(announcement()).toMatch(/^Connected again/)
  })

  it('promises no reconnect after the server has closed the connection for good', async () => {
    useLive().setState({ name: 'waiting', delayMs: 1_000 })
    await nextTick()
    useLive().setState({ name: 'stopped', code: 4501 })
    await nextTick()
    expect(announcement()).toMatch(/has closed this connection/)
  })
})
