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
const spoken = () => useNotices().spoken

beforeEach(() => {
  setActivePinia(createPinia())
  useLive().become({ name: 'live' })
  useSlots().replace([slot()])
  app = createApp(ConnectionBanner)
  app.provide(shopKey, {} as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
})

describe('the banner of the connection', () => {
  it('says nothing while all is well', async () => {
    await nextTick()
    expect(spoken()).toBe('')
  })

  it('says that the connection is lost, and that it is back, to who does not see it', async () => {
    useLive().become({ name: 'waiting', delayMs: 1_000 })
    await nextTick()
    expect(spoken()).toMatch(/connection was lost/)
    useLive().become({ name: 'connecting' })
    await nextTick()
    expect(spoken()).not.toMatch(/again/)
    useLive().become({ name: 'live' })
    await nextTick()
    expect(spoken()).toMatch(/^Connected again/)
  })

  it('calls nobody back whom the server has sent away', async () => {
    useLive().become({ name: 'waiting', delayMs: 1_000 })
    await nextTick()
    useLive().become({ name: 'stopped', code: 4501 })
    await nextTick()
    expect(spoken()).toMatch(/has closed this connection/)
  })
})
