// @vitest-environment happy-dom
import { createApp, h, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Order } from '../protocol/types'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import OrderItem from './OrderItem.vue'

const onReceive = vi.fn()
let app: App | undefined

function show(over: Partial<Order>, receiving = false): void {
  app = createApp(() => {
    const state = { order: order(over), cancelling: false, paying: false, receiving }
    return h(OrderItem, { ...state, onReceive })
  })
  app.mount(document.body.appendChild(document.createElement('div')))
}

const button = (label: string) =>
  document.querySelector<HTMLButtonElement>(`button[aria-label="${label}"]`) ?? undefined
const CONFIRM = 'I received it: Kettle'

beforeEach(() => {
  vi.resetAllMocks()
  freshStores()
  usePreferences().setLang('en')
})

afterEach(() => {
  app?.unmount()
  document.body.replaceChildren()
})

describe('a shipped order', () => {
  it('shows its parcel and can be confirmed', () => {
    show({ state: 'shipped', tracking: 'SF Express SF1234567890' })
    expect(document.querySelector('.tracking')?.textContent).toBe('Parcel SF Express SF1234567890')
    button(CONFIRM)?.click()
    expect(onReceive).toHaveBeenCalledTimes(1)
  })

  it('is confirmed in the language of the shopper', async () => {
    usePreferences().setLang('zh')
    show({ state: 'shipped', tracking: '顺丰 SF1' })
    await nextTick()
    expect(document.querySelector('.tracking')?.textContent).toBe('快递 顺丰 SF1')
    expect(button('确认收货：Kettle')?.textContent.trim()).toBe('确认收货')
  })

  it('is confirmed once', () => {
    show({ state: 'shipped', tracking: 'SF SF1' }, true)
    button(CONFIRM)?.click()
    expect(onReceive).not.toHaveBeenCalled()
    expect(button(CONFIRM)?.getAttribute('aria-disabled')).toBe('true')
  })

  it.each<Partial<Order>>([
    { state: 'paid' },
    { state: 'finished', tracking: 'SF SF1' },
    { state: 'shipped', tracking: 'SF SF1', reason: 'refund_asked' },
    { state: 'refunding', tracking: 'SF SF1' },
  ])('cannot be confirmed in other states or with a refund request: %o', (over) => {
    show(over)
    expect(button(CONFIRM)).toBeUndefined()
  })
})
