// @vitest-environment happy-dom
import { createApp, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shopKey, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useSlots } from '../stores/slots'
import { slot } from '../testing/samples'
import ConnectionBanner from './ConnectionBanner.vue'

let app: App
const announcement = () => useNotices().announcement

beforeEach(() => {
  freshStores()
  useLive().setState({ name: 'live' })
  useSlots().replace([slot()])
  app = createApp(ConnectionBanner, { active: true })
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
    useLive().setState({ name: 'waiting', delayMs: 1_000, drained: false })
    await nextTick()
    expect(announcement()).toMatch(/connection was lost/)
    useLive().setState({ name: 'connecting' })
    await nextTick()
    expect(announcement()).not.toMatch(/again/)
    useLive().setState({ name: 'live' })
    await nextTick()
    expect(announcement()).toMatch(/^Connected again/)
  })

  it('shows a planned drain as planned until the next attempt has ended', async () => {
    const banner = () => document.querySelector('.banner')?.textContent
    useLive().setState({ name: 'waiting', delayMs: 1_000, drained: true })
    await nextTick()
    expect(banner()).toMatch(/moves you to another server/)
    expect(document.querySelector('.problem, button')).toBeNull()
    useLive().setState({ name: 'connecting' })
    await nextTick()
    expect(banner()).toMatch(/moves you to another server/)
    useLive().setState({ name: 'waiting', delayMs: 1_000, drained: false })
    await nextTick()
    expect(banner()).toMatch(/connection was lost/)
  })

  it('shows that the browser is offline', async () => {
    useLive().setState({ name: 'offline' })
    await nextTick()
    expect(announcement()).toMatch(/^You are offline/)
    expect(document.querySelector('.banner')?.textContent).not.toMatch(/attempt/)
  })

  it('promises no reconnect after the server has closed the connection for good', async () => {
    useLive().setState({ name: 'waiting', delayMs: 1_000, drained: false })
    await nextTick()
    useLive().setState({ name: 'stopped', code: 4501 })
    await nextTick()
    expect(announcement()).toMatch(/has closed this connection/)
  })
})
