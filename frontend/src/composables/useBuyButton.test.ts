// @vitest-environment happy-dom
import { effectScope, type EffectScope } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Sale } from '../protocol/types'
import { freshStores } from '../stores/define'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { useAttempts } from '../stores/attempts'
import { useSession } from '../stores/session'
import { at } from '../testing/clock'
import { order, sale } from '../testing/samples'
import { useBuyButton } from './useBuyButton'

const attempt = { key: 'k-3f9c1d2e', user: '7', sale: '11', qty: 1, product: 'Kettle', pressedAt: 0 }

/** Longer than the two frames after which a change is drawn, in milliseconds. */
const DRAWN_MS = 64

let scope: EffectScope

function onCard(over: Partial<Sale> = {}): ReturnType<typeof useBuyButton> {
  return scope.run(() => useBuyButton(() => sale(over))) as ReturnType<typeof useBuyButton>
}

function button(over: Partial<Sale> = {}) {
  const { label, action, another } = onCard(over)
  return { label: label.value, action: action.value, another: another.value }
}

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope()
  localStorage.clear()
  freshStores()
  usePreferences().setLang('en')
  useLive().welcomed(true)
  at(1_500)
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('the Buy button', () => {
  it('is active while the sale is open', () => {
    expect(button()).toEqual({ label: 'Buy', action: 'buy', another: false })
  })

  it.each<[string, Partial<Sale>, string]>([
    ['before the opening', { opens_at: 31_500, closes_at: 99_000 }, 'Opens in 00:30'],
    ['after the end', { closes_at: 1_400 }, 'Ended'],
    ['while paused', { paused: true }, 'Paused'],
    ['without stock', { stock: 0 }, 'Sold out'],
  ])('has no action %s', (_, over, label) => {
    expect(button(over)).toEqual({ label, action: 'none', another: false })
  })

  it('becomes Pay with the order, also after the sale; a separate control buys another unit', () => {
    const orders = useOrders()
    orders.upsert(order({ rev: 0, state: 'reserved' }))
    expect(button()).toEqual({ label: 'Reserved', action: 'none', another: false })
    orders.upsert(order({ rev: 1 }))
    expect(button()).toEqual({ label: 'Pay', action: 'pay', another: true })
    expect(button({ closes_at: 1_400 })).toEqual({ label: 'Pay', action: 'pay', another: false })
    at(61_100)
    expect(button({ closes_at: 99_000 })).toMatchObject({ label: 'Time is up', action: 'none' })
    orders.upsert(order({ rev: 2, state: 'paid' }))
    expect(button({ closes_at: 99_000 })).toEqual({ label: 'You have 1', action: 'none', another: true })
  })

  it('pays the order with the earliest deadline first', () => {
    const orders = useOrders()
    orders.upsert(order({ id: '101', pay_until: 61_100 }))
    orders.upsert(order({ id: '102', pay_until: 9_000 }))
    expect(onCard().unpaid.value?.id).toBe('102')
  })

  it('becomes Buy again after a release, and has no action while refunded units count towards the limit', () => {
    const orders = useOrders()
    orders.upsert(order({ id: '101', state: 'expired' }))
    orders.upsert(order({ id: '102', state: 'refunded' }))
    expect(button()).toEqual({ label: 'Buy', action: 'buy', another: false })
    orders.upsert(order({ id: '103', state: 'refunded' }))
    expect(button()).toEqual({ label: 'Limit reached', action: 'none', another: false })
  })

  it('offers no other unit at the limit', () => {
    useOrders().upsert(order({ qty: 2 }))
    expect(button()).toEqual({ label: 'Pay', action: 'pay', another: false })
  })

  it('ignores clicks for a moment after an outcome, but not after the opening', async () => {
    const attempts = useAttempts()
    at(900)
    const { guarded, action } = onCard()
    await vi.advanceTimersByTimeAsync(DRAWN_MS + 500)
    expect(guarded.value).toBe(false)
    at(1_000)
    expect({ action: action.value, guarded: guarded.value }).toEqual({ action: 'buy', guarded: false })
    attempts.begin(attempt)
    await vi.advanceTimersByTimeAsync(5_000)
    attempts.end(attempt)
    expect(guarded.value).toBe(true)
    await vi.advanceTimersByTimeAsync(1_499) // a part of this time passes before the change is drawn
    expect(guarded.value).toBe(true)
    await vi.advanceTimersByTimeAsync(DRAWN_MS + 1)
    expect(guarded.value).toBe(false)
    useOrders().upsert(order())
    expect({ action: action.value, guarded: guarded.value }).toEqual({ action: 'pay', guarded: true })
  })

  it('has no action while offline or silent, and opens the login if the shop has no guests', async () => {
    at(1_500, true)
    expect(button()).toEqual({ label: 'Buy', action: 'none', another: false })
    at(1_500)
    expect(button().action).toBe('buy')
    useLive().welcomed(false)
    expect(button()).toEqual({ label: 'Buy', action: 'none', another: false })
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { status: 403 })))
    const renewed = useSession().renew()
    await vi.advanceTimersByTimeAsync(100)
    await renewed
    expect(button()).toEqual({ label: 'Log in to buy', action: 'login', another: false })
  })

  it('shows a pending and a repeated attempt', () => {
    const attempts = useAttempts()
    attempts.begin(attempt)
    expect(button()).toEqual({ label: 'Reserving…', action: 'none', another: false })
    attempts.repeat(attempt.key)
    expect(button().label).toBe('Still trying…')
    attempts.end(attempt)
    expect(button().action).toBe('buy')
  })
})
