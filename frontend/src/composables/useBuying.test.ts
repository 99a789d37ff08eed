// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Sale } from '../protocol/types'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { usePresses } from '../stores/presses'
import { useSession } from '../stores/session'
import { order, sale } from '../testing/samples'
import { useBuying } from './useBuying'

const press = { key: 'k-3f9c1d2e', user: '7', sale: '11', qty: 1, product: 'Kettle', pressedAt: 0 }

function button(over: Partial<Sale> = {}) {
  const { label, canPress } = useBuying(() => sale(over))
  return { label: label.value, canPress: canPress.value }
}

beforeEach(() => {
  localStorage.clear()
  setActivePinia(createPinia())
  usePreferences().lang = 'en'
  useLive().ready = true
  useLive().now = 1_500
})

describe('the Buy button', () => {
  it('can be pressed while the sale is open', () => {
    expect(button()).toEqual({ label: 'Buy', canPress: true })
  })

  it.each<[string, Partial<Sale>, string]>([
    ['before the opening', { opens_at: 31_500, closes_at: 99_000 }, 'Opens in 00:30'],
    ['after the end', { closes_at: 1_400 }, 'Closed'],
    ['while paused', { paused: true }, 'Paused'],
    ['without stock', { stock: 0 }, 'Sold out'],
  ])('rests %s', (_, over, label) => {
    expect(button(over)).toEqual({ label, canPress: false })
  })

  it('rests at the limit, counting what is running and not what was given back', () => {
    const orders = useOrders()
    orders.upsert(order({ id: '101', qty: 1 }))
    orders.upsert(order({ id: '102', qty: 1, state: 'expired' }))
    expect(button()).toEqual({ label: 'Buy more', canPress: true })
    orders.upsert(order({ id: '103', qty: 1, state: 'reserved' }))
    expect(button()).toEqual({ label: 'Limit reached', canPress: false })
  })

  it('rests while offline or without a word, and without a way to sign in', () => {
    useLive().refresh(true)
    useLive().now = 1_500
    expect(button()).toEqual({ label: 'Reconnecting…', canPress: false })
    useLive().refresh(false)
    useLive().now = 1_500
    expect(button().canPress).toBe(true)
    useLive().ready = false
    expect(button()).toEqual({ label: 'Reconnecting…', canPress: false })
    useSession().guestsOff = true
    expect(button()).toEqual({ label: 'Sign in to buy', canPress: false })
  })

  it('says that a press is under way, and that it is being repeated', () => {
    const presses = usePresses()
    presses.begin(press)
    expect(button()).toEqual({ label: 'Reserving…', canPress: false })
    presses.repeated.add(press.key)
    expect(button().label).toBe('Still asking…')
    presses.end(press)
    expect(button().canPress).toBe(true)
  })
})
