// @vitest-environment happy-dom
import { createApp, h, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Address, Order } from '../protocol/types'
import { router } from '../router'
import { shopKey, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { useDeliverySheet } from '../stores/deliverysheet'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import DeliverySheet from './DeliverySheet.vue'

const home = { name: 'Li Lei', phone: '13800000000', text: '1 Main Street' }
const setAddress = vi.fn<(order: Order, address: Address) => Promise<boolean>>()
const pay = vi.fn<(order: Order) => Promise<void>>()
let app: App

const button = (text: string) =>
  [...document.querySelectorAll('button')].find((element) => element.innerText.trim() === text)

async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(10)
  await nextTick()
}

beforeEach(async () => {
  vi.useFakeTimers()
  vi.resetAllMocks()
  freshStores()
  await router.replace('/')
  vi.stubGlobal('matchMedia', () => ({ matches: true, addEventListener: vi.fn() })) // a phone pays at once
  const addresses = [{ id: '1', ...home, default: true }]
  vi.stubGlobal('fetch', () =>
    Promise.resolve({ ok: true, status: 200, json: () => Promise.resolve({ addresses }) }),
  )
  usePreferences().setAddress(home)
  const own = order({ pay_until: Date.now() + 60_000 })
  useOrders().upsert(own)
  const sheet = useDeliverySheet()
  sheet.show(own, true)
  app = createApp(() =>
    sheet.order
      ? h(DeliverySheet, {
          order: sheet.order,
          open: sheet.isOpen,
          paysNext: sheet.paysNext,
          'onUpdate:open': sheet.close,
        })
      : undefined,
  )
  app.provide(shopKey, { setAddress, pay } as unknown as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
  await settled()
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('the delivery address before the payment', () => {
  it('is sent with one tap, and the payment follows', async () => {
    setAddress.mockResolvedValue(true)
    button('Ship to Li Lei and pay')?.click()
    await settled()
    expect(setAddress.mock.lastCall?.[1]).toEqual(home)
    expect(pay).toHaveBeenCalledOnce()
    expect(useDeliverySheet().isOpen).toBe(false)
  })

  it('leads to no payment after the shopper has closed the sheet', async () => {
    let reply: (accepted: boolean) => void = vi.fn()
    setAddress.mockReturnValue(new Promise((resolve) => (reply = resolve)))
    button('Ship to Li Lei and pay')?.click()
    useDeliverySheet().close()
    await settled()
    reply(true)
    await settled()
    expect(pay).not.toHaveBeenCalled()
  })

  it('is not requested after the end of the time to pay, or of the order', async () => {
    await vi.advanceTimersByTimeAsync(60_000)
    useLive().refresh()
    await settled()
    expect(button('Ship to Li Lei and pay')).toBeUndefined()
    expect(document.querySelector('[data-outcome=pending]')?.textContent).toContain('Time is up')
    useOrders().upsert(order({ state: 'paid', rev: 2 }))
    await settled()
    expect(document.querySelector('[data-outcome=paid]')?.textContent).toContain('Thank you!')
  })
})
