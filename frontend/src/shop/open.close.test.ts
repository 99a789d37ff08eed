// @vitest-environment happy-dom
import { expect, it, vi } from 'vitest'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { useAttempts } from '../stores/attempts'
import { order } from '../testing/samples'
import { connect, pass, pendingEvent, shop, visit, visitedBeforeEach, wire, wires } from '../testing/visit'

visitedBeforeEach()

/** The listeners of window and document that are added from now on and not removed. */
function listening(): Set<string> {
  const listeners = new Set<string>()
  for (const [name, target] of Object.entries({ window, document })) {
    const { addEventListener, removeEventListener } = target
    const ids = new Map<unknown, number>()
    const id = (type: string, run: unknown): string => {
      if (!ids.has(run)) ids.set(run, ids.size)
      return `${name} ${type} ${String(ids.get(run))}`
    }
    vi.spyOn(target as Window, 'addEventListener').mockImplementation((type: string, run: unknown) => {
      listeners.add(id(type, run))
      addEventListener.call(target, type, run as EventListener)
    })
    vi.spyOn(target as Window, 'removeEventListener').mockImplementation((type: string, run: unknown) => {
      listeners.delete(id(type, run))
      removeEventListener.call(target, type, run as EventListener)
    })
  }
  return listeners
}

it('releases all timers, listeners, locks and connections', async () => {
  const listeners = listening()
  const locks: Promise<unknown>[] = []
  const request = (_: string, run: () => Promise<unknown>): Promise<unknown> => {
    const held = run()
    locks.push(held)
    return held
  }
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } })
  await visit()
  await connect()
  const stores = listeners.size
  expect(stores).toBeGreaterThan(3)
  expect(vi.getTimerCount()).toBeGreaterThan(3)
  vi.stubGlobal('open', () => null)
  useOrders().upsert(order({ pay_until: Date.now() + 60_000 }))
  shop.buy('11', 1)
  void shop.pay(order())
  await pass()
  wire().refuse('buy', 'busy')
  wire().refuse('pay', 'busy')
  await pass()
  shop.buy('12', 1)
  await pass()

  shop.close()
  await pass()
  expect(vi.getTimerCount()).toBe(0)
  expect(wires.every(({ closed }) => closed)).toBe(true)
  await Promise.all(locks)
  // The listeners of the stores are removed with the stores.
  expect(new Set([...listeners].map((listener) => listener.split(' ')[1]))).toEqual(new Set(['storage']))
})

it('does not reconnect after it was closed', async () => {
  await connect()
  shop.buy('11', 1)
  await pass()
  const event = pendingEvent()
  const dialled = wires.length
  shop.close()
  wire().deliver(event)
  wire().drop()
  window.dispatchEvent(new Event('online'))
  document.dispatchEvent(new Event('visibilitychange'))
  window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.session' }))
  shop.reconnect()
  await pass(3_600_000)
  expect(wires).toHaveLength(dialled)
  expect(vi.getTimerCount()).toBe(0)
  expect(useOrders().all).toEqual([])
  expect(useAttempts().onSale('11')).toBeDefined()
  expect(document.documentElement.dataset.freshness).toBe('live')
  expect(useLive().freshness).toBe('lost')
})
