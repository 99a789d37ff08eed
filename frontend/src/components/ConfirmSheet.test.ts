// @vitest-environment happy-dom
import { createApp, h, nextTick, ref, shallowRef, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import ConfirmSheet from './ConfirmSheet.vue'

const shop = { cancel: vi.fn(), receive: vi.fn() }
vi.mock('../shop/open', () => ({ useShop: () => shop }))
const guarded = ref(false)
vi.mock('../composables/useClickGuard', () => ({ useClickGuard: () => guarded, APPEAR_GUARD_MS: 1 }))
const open = ref(true)
const asked = shallowRef(order())
let app: App

async function ask(action: 'cancel' | 'receive'): Promise<void> {
  asked.value = order({ state: action === 'cancel' ? 'pending' : 'shipped' })
  open.value = true
  app = createApp(() =>
    h(ConfirmSheet, { order: asked.value, action, open: open.value, 'onUpdate:open': close }),
  )
  app.mount(document.body.appendChild(document.createElement('div')))
  await nextTick()
}

function close(now: boolean): void {
  open.value = now
}

async function submit(): Promise<void> {
  document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))
  await nextTick()
}

beforeEach(() => {
  vi.resetAllMocks()
  freshStores()
  usePreferences().setLang('en')
  guarded.value = false
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
})

describe.each(['cancel', 'receive'] as const)('the question before %s', (action) => {
  it('focuses the safe button, which closes it and changes nothing', async () => {
    await ask(action)
    const keep = document.activeElement as HTMLButtonElement
    expect(keep.textContent).toBe(action === 'cancel' ? 'Keep the order' : 'Not yet')
    keep.click()
    await nextTick()
    expect(open.value).toBe(false)
    expect(shop[action]).not.toHaveBeenCalled()
  })

  it('performs the action once after its confirmation', async () => {
    await ask(action)
    expect(shop[action]).not.toHaveBeenCalled()
    await submit()
    expect(open.value).toBe(false)
    expect(shop[action]).toHaveBeenCalledExactlyOnceWith(asked.value)
    open.value = true
    await nextTick()
    open.value = false
    await nextTick()
    expect(shop[action]).toHaveBeenCalledTimes(1)
  })

  it('ignores the second click of the double click that opened it', async () => {
    guarded.value = true
    await ask(action)
    await submit()
    expect(open.value).toBe(true)
    expect(shop[action]).not.toHaveBeenCalled()
  })

  it('closes if the order changes so that the action is no longer possible', async () => {
    await ask(action)
    asked.value = order({ state: action === 'cancel' ? 'paid' : 'refunding', rev: 2 })
    await nextTick()
    expect(open.value).toBe(false)
    expect(shop[action]).not.toHaveBeenCalled()
  })
})
