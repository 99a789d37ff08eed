// @vitest-environment happy-dom
import { createApp, nextTick } from 'vue'
import { describe, expect, it, vi } from 'vitest'
import BlockedShop from '../components/BlockedShop.vue'
import { useLive } from '../stores/live'
import { usePreferences } from '../stores/preferences'
import { connect, guest, pass, shop, visitedBeforeEach, wire, wires } from '../testing/visit'
import { shopKey } from './open'

const BLOCKED = 4507
const AN_HOUR_MS = 3_600_000

visitedBeforeEach()

/** The card that the open page shows while the user is blocked. */
function card(): HTMLElement {
  const element = document.createElement('div')
  createApp(BlockedShop).provide(shopKey, shop).mount(element)
  return element
}

describe('a blocked user', () => {
  it('reconnects only after a click', async () => {
    await connect()
    wire().deliver({ ev: 'bye', code: BLOCKED, retry_ms: 0 })
    wire().drop(BLOCKED)
    expect(useLive().isBlocked).toBe(true)
    const before = wires.length
    window.dispatchEvent(new Event('online'))
    document.dispatchEvent(new Event('visibilitychange'))
    await pass(AN_HOUR_MS)
    expect(wires).toHaveLength(before)
    expect(useLive().isBlocked).toBe(true)
    card().querySelector('button')?.click()
    expect(wires).toHaveLength(before + 1)
    await connect()
    expect(useLive().isBlocked).toBe(false)
  })

  it('sees an explanation and the options in both languages', async () => {
    await connect()
    const element = card()
    expect(element.querySelector('[role=alert]')?.textContent).toMatch(/blocked.*contact the shop/)
    usePreferences().setLang('zh')
    await nextTick()
    expect(element.textContent).toMatch(/封禁.*联系商城/)
  })

  it('with a blocked address is notified over HTTP if the handshake fails', async () => {
    await connect()
    wire().drop()
    guest.mockImplementation(() => ({ status: 403, body: { error: { code: 'forbidden', message: 'm' } } }))
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(useLive().isBlocked).toBe(false)
      await pass(2_000)
      wire().drop()
    }
    await pass()
    expect(useLive().isBlocked).toBe(true)
    const before = wires.length
    await pass(AN_HOUR_MS)
    expect(wires).toHaveLength(before)
  })

  it('is not assumed while the shop is unreachable', async () => {
    await connect()
    wire().drop()
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('no network')))
    for (let attempt = 0; attempt < 6; attempt++) {
      await pass(16_000)
      wire().drop()
    }
    expect(useLive().isBlocked).toBe(false)
    await pass(16_000)
    await connect()
    expect(useLive().isLive).toBe(true)
  })
})
