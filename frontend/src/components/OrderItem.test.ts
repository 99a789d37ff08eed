// @vitest-environment happy-dom
import { createApp, h, nextTick, ref, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Order } from '../protocol/types'
import { router } from '../router'
import { shopKey, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import OrderItem from './OrderItem.vue'

const cancel = vi.fn()
const receive = vi.fn()
let app: App | undefined

function show(over: Partial<Order>, receiving = false): void {
  const none = ref(new Set())
  const shop = {
    cancel,
    receive,
    cancelling: none,
    paying: none,
    receiving: ref(new Set(receiving ? ['101'] : [])),
  }
  app = createApp(() => h(OrderItem, { order: order(over) }))
  app.use(router).provide(shopKey, shop as unknown as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
}

const button = (label: string) =>
  document.querySelector<HTMLButtonElement>(`button[aria-label="${label}"]`) ?? undefined
const CONFIRM = 'I received it: Kettle'

beforeEach(async () => {
  vi.resetAllMocks()
  freshStores()
  usePreferences().setLang('en')
  await router.push('/')
})

afterEach(() => {
  app?.unmount()
  document.body.replaceChildren()
})

it('a reservation that the shop is checking shows this instead of its place, and has no Cancel', () => {
  show({ state: 'reserved', reason: 'checking' })
  expect(document.body.textContent).toContain('The shop is checking this order')
  expect(document.querySelector('.place')).toBeNull()
  expect(button('Cancel the order for Kettle')).toBeUndefined()
})

describe('a shipped order', () => {
  it('shows its parcel once, with its carrier', () => {
    show({ state: 'shipped', tracking: 'SF Express SF1234567890' })
    expect(document.querySelector('.tracking')?.textContent).toBe('Parcel SF Express SF1234567890')
  })

  it.each<[string, Partial<Order>, string]>([
    ['cancel', { state: 'pending' }, 'Cancel the order for Kettle'],
    ['cancel', { state: 'reserved' }, 'Cancel the order for Kettle'],
    ['receipt', { state: 'shipped' }, CONFIRM],
  ])('asks before %s of an order: %o', async (sheet, over, label) => {
    show(over)
    button(label)?.click()
    await vi.waitFor(() => expect(router.currentRoute.value.path).toBe(`/order/101/${sheet}`))
    expect(cancel).not.toHaveBeenCalled()
    expect(receive).not.toHaveBeenCalled()
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
    expect(router.currentRoute.value.name).not.toBe('receipt')
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
