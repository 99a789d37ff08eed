// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { order, sale } from '../testing/samples'
import { freshStores } from './define'
import { useLive } from './live'
import { useOrders } from './orders'
import { usePreferences } from './preferences'
import { useSales } from './sales'

beforeEach(() => freshStores())

// Both the compiler and the running page reject these writes.
describe('the state of a store', () => {
  it('is read-only at any depth', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    useSales().change(sale())
    useOrders().upsert(order())
    const writes = [
      // @ts-expect-error: set by a hello
      () => (useLive().ready = true),
      // @ts-expect-error: set by ticks
      () => (useSales().byId.get('11').stock = 0),
      // @ts-expect-error: set by events
      () => useOrders().byId.clear(),
      // @ts-expect-error: set by `setLang()`
      () => (usePreferences().lang = 'zh'),
    ]
    for (const write of writes) write()
    expect(warn).toHaveBeenCalledTimes(writes.length)
    expect(useLive().ready).toBe(false)
    expect(useSales().byId.get('11')?.stock).toBe(90)
    expect(useOrders().byId.size).toBe(1)
    warn.mockRestore()
  })

  it('follows the actions', () => {
    const sales = useSales()
    sales.change(sale())
    sales.tick([{ id: '11', stock: 1, held: 0, sold: 99, done: 99, rate: 1, watching: 1 }])
    expect(sales.byId.get('11')?.stock).toBe(1)
  })
})
