// @vitest-environment happy-dom
import { createApp, h, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import RefundSheet from './RefundSheet.vue'

const refund = vi.fn()
vi.mock('../shop/open', () => ({ useShop: () => ({ refund }) }))
let app: App | undefined

beforeEach(() => {
  vi.resetAllMocks()
  freshStores()
  usePreferences().setLang('en')
})

afterEach(() => {
  app?.unmount()
  document.body.replaceChildren()
})

describe('a refund without a reason', () => {
  it('is not sent; the error is shown at the field until the field changes', async () => {
    app = createApp(() => h(RefundSheet, { order: order({}), open: true }))
    app.mount(document.body.appendChild(document.createElement('div')))
    await nextTick()
    const field = document.querySelector('textarea')
    document.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }))
    await vi.waitFor(() => expect(document.activeElement).toBe(field))
    expect(field?.getAttribute('aria-invalid')).toBe('true')
    const problem = document.getElementById(field?.getAttribute('aria-describedby') ?? '')
    expect(problem?.textContent).toBe('Please enter a reason.')

    field?.dispatchEvent(new Event('input', { bubbles: true }))
    await nextTick()
    expect(field?.hasAttribute('aria-invalid')).toBe(false)
    expect(field?.hasAttribute('aria-describedby')).toBe(false)
    expect(refund).not.toHaveBeenCalled()
  })
})
