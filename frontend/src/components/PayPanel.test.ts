// @vitest-environment happy-dom
import { createApp, h, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { drawQr } from '../format/qr'
import type { Order } from '../protocol/types'
import { shopKey, type Shop } from '../shop/open'
import type { PayCode } from '../shop/paying'
import { freshStores } from '../stores/define'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { order } from '../testing/samples'
import PayPanel from './PayPanel.vue'

const text = 'https://qr.alipay.com/bax03431'
const payCode = vi.fn<(order: Order) => Promise<PayCode>>()
const pay = vi.fn<(order: Order) => Promise<void>>()
const done = vi.fn()
let app: App

const find = (selector: string) => document.querySelector(selector)
const button = (name: string) => [...document.querySelectorAll('button')].find((b) => b.innerText === name)

async function show(): Promise<void> {
  const orders = useOrders()
  orders.upsert(order({ pay_until: Date.now() + 60_000 }))
  app = createApp(() => {
    const own = orders.byId.get('101')
    return own && h(PayPanel, { order: own, onDone: done })
  })
  app.provide(shopKey, { payCode, pay } as unknown as Shop)
  app.mount(document.body.appendChild(document.createElement('div')))
  await settled()
}

async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0)
  await nextTick()
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.resetAllMocks()
  freshStores()
  payCode.mockResolvedValue({ text })
  useLive().setState({ name: 'live' })
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
  vi.useRealTimers()
})

describe('paying at a desktop', () => {
  it('offers a code and a payment in this browser', async () => {
    await show()
    expect(payCode.mock.calls.map(([{ id }]) => id)).toEqual(['101'])
    expect(find('svg[role=img]')?.getAttribute('aria-label')).toContain('¥99 for order 101')
    expect(find('svg[role=img] path')?.getAttribute('d')).toBe(drawQr(text).path)
    button('Pay in this browser')?.click()
    expect(pay).toHaveBeenCalledOnce()
    expect(done).toHaveBeenCalledOnce()
  })

  it('offers a payment in this browser while the code loads', async () => {
    payCode.mockReturnValue(new Promise(() => undefined))
    await show()
    expect(find('[role=status]')?.textContent).toMatch(/Loading the QR code/)
    expect(button('Pay in this browser')).toBeDefined()
  })

  it('shows the payment after the event and focuses the button', async () => {
    await show()
    useOrders().upsert(order({ state: 'paid', rev: 2 }))
    await settled()
    expect(find('svg[role=img]')).toBeNull()
    expect(find('[data-outcome=paid]')?.textContent).toContain('Kettle is paid.')
    expect(document.activeElement).toBe(button('Done'))
    button('Done')?.click()
    expect(done).toHaveBeenCalledOnce()
  })

  it('shows the end of the time to pay and removes the code', async () => {
    await show()
    expect(find('[data-deadline]')?.textContent).toContain('01:00')
    await vi.advanceTimersByTimeAsync(60_000)
    useLive().refresh()
    await settled()
    expect(find('svg[role=img]')).toBeNull()
    expect(find('[data-outcome=pending]')?.textContent).toContain('Time is up')
    expect(button('Pay in this browser')).toBeUndefined()
    useOrders().upsert(order({ state: 'expired', rev: 2 }))
    await settled()
    expect(find('[data-outcome=expired]')?.textContent).toContain('was not paid in time')
  })

  it("shows the server's late reply regardless of the countdown", async () => {
    payCode.mockResolvedValue({ problem: 'order_expired' })
    await show()
    expect(find('[data-outcome=pending]')?.textContent).toContain('Time is up')
  })

  it('shows an unavailable gateway and retries on request', async () => {
    payCode.mockResolvedValueOnce({ problem: 'busy' })
    await show()
    expect(find('[role=alert]')?.textContent).toContain('cannot provide a QR code right now')
    expect(button('Pay in this browser')?.className).toBe('button')
    button('Try again')?.click()
    await settled()
    expect(find('svg[role=img]')).not.toBeNull()
  })

  it('retries a lost request after the reconnect', async () => {
    payCode.mockResolvedValueOnce({ problem: 'lost' })
    await show()
    expect(find('[role=alert]')?.textContent).toContain('No response from the shop')
    useLive().welcomed(true)
    await settled()
    expect(find('svg[role=img]')).not.toBeNull()
    expect(payCode).toHaveBeenCalledTimes(2)
  })
})
