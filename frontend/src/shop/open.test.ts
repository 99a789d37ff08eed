// @vitest-environment happy-dom
import { describe, expect, it, vi } from 'vitest'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { useAttempts } from '../stores/attempts'
import { useRates } from '../stores/rates'
import { useSales } from '../stores/sales'
import { phaseAt, useSlots } from '../stores/slots'
import { order, sale, slot, welcome } from '../testing/samples'
import { connect, pass, pendingEvent, shop, tokenOf, visit, visitedBeforeEach, wire } from '../testing/visit'

visitedBeforeEach()

/** The fake clock draws a frame in this time, in milliseconds. */
const FRAME_MS = 16

describe('buying', () => {
  it('leads from the click to the place and the order', async () => {
    await connect()
    shop.buy('11', 1)
    expect(useAttempts().onSale('11')).toBeDefined()
    await pass()
    wire().reply('buy', { order: '101', ticket: 20, place: 11, state: 'reserved' })
    await pass()
    expect(useAttempts().onSale('11')).toBeUndefined()
    expect(useOrders().running).toMatchObject([{ id: '101', state: 'reserved', ticket: 20 }])
    wire().deliver(pendingEvent())
    expect(useOrders().running).toMatchObject([{ state: 'pending' }])
    expect(useNotices().announcement).toContain('Kettle')
  })

  it('accepts one click at a time: two quick clicks are one buy', async () => {
    await connect()
    shop.buy('11', 1)
    shop.buy('11', 1)
    await pass()
    expect(wire().sent.filter((frame) => frame.op === 'buy')).toHaveLength(1)
  })

  it('sends the same key on the next connection after a break (P4)', async () => {
    await connect()
    shop.buy('11', 2)
    await pass()
    const first = wire().last('buy')
    wire().drop()
    await pass(5_000)
    await connect()
    await pass(1_000)
    const { key, qty } = wire().last('buy')
    expect({ key, qty }).toEqual({ key: first.key, qty: 2 })
  })

  it('does not buy again if the missed events contain the outcome (P6)', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    const missed = [pendingEvent()]
    wire().drop()
    await pass(5_000)
    await connect({ missed: missed as never })
    await pass(2_000)
    expect(wire().sent.some((frame) => frame.op === 'buy')).toBe(false)
    expect(useAttempts().open).toEqual([])
    expect(useOrders().running).toMatchObject([{ id: '101', state: 'pending' }])
  })

  it('shows why a buy was rejected', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    wire().refuse('buy', 'sold_out')
    await pass()
    expect(useAttempts().ended).toMatchObject([{ sale: '11', ending: { kind: 'refused', code: 'sold_out' } }])
    expect(useNotices().announcement).toMatch(/sold out/i)
  })
})

describe('the outcome of an attempt', () => {
  const texts = (): string[] => useNotices().notices.map(({ text }) => text)
  const past = { id: '1', phase: 'closed' as const, opens_at: 1, closes_at: 2 }

  /** The slot of the attempt has ended, and the shopper has opened the next one. */
  function rollOver(): void {
    useSlots().replace([slot(past), slot({ id: '2', opens_at: 2, closes_at: Date.now() + 3_600_000 })])
    useSales().replaceSlot('2', [sale({ id: '22', slot: '2' })])
    useSlots().choose('2')
  }

  it('is shown after the end of the slot until it is dismissed', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    expect(texts()).toEqual([])
    rollOver()
    await pass()
    expect(texts()).toEqual([expect.stringContaining('still waiting for the result')])
    wire().drop()
    await pass(5_000)
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass()
    wire().refuse('buy', 'closed')
    await pass(60_000)
    expect(texts()).toEqual([expect.stringMatching(/Kettle.*The sale is closed/)])
    await visit()
    expect(texts()).toHaveLength(1)
    useNotices().dismiss(useNotices().notices[0]?.id ?? 0)
    expect(texts()).toEqual([])
    await visit()
    expect(texts()).toEqual([])
  })

  it('is found by its key after a reload and shown', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    const { key } = wire().last('buy')
    await visit()
    await connect()
    expect(wire().last('buy').key).toBe(key)
    wire().reply('buy', { order: '101', ticket: 20, place: 11, state: 'reserved' })
    await pass()
    expect(texts()).toEqual([expect.stringContaining('succeeded')])
    expect(useAttempts().open).toEqual([])
  })

  it('is not an error after an unreadable reply: the same key is sent again', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    await connect()
    shop.buy('11', 1)
    await pass()
    const { key } = wire().last('buy')
    wire().reply('buy', { order: null })
    await pass()
    expect(useAttempts().onSale('11')?.key).toBe(key)
    await pass(1_000)
    expect(wire().last('buy').key).toBe(key)
    wire().reply('buy', { order: '101', ticket: 20, place: 11, state: 'reserved' })
    await pass()
    expect(useOrders().running).toMatchObject([{ id: '101' }])
    warn.mockRestore()
  })

  it('of a reservation without an order is shown with its reason', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    wire().reply('buy', { order: '101', ticket: 20, place: 11, state: 'reserved' })
    await pass()
    const event = pendingEvent()
    wire().deliver({ ...event, order: { ...event.order, state: 'refused', reason: 'stock_guard' } })
    await pass()
    expect(texts()).toEqual([expect.stringMatching(/Kettle.*last unit/)])
  })

  it('of another guest is not requested, but shown', async () => {
    await connect()
    shop.buy('11', 1)
    await pass()
    const expires = Date.now() + 3_600_000
    shop.logIn({
      access: tokenOf('9', expires),
      user: { id: '9', name: 'N' },
      issued: 0,
      expires,
      account: true,
    })
    wire().open()
    wire().reply('hello', welcome({ now: Date.now(), user: { id: '9', name: 'N' } }))
    await pass(10_000)
    expect(wire().sent.some((frame) => frame.op === 'buy')).toBe(false)
    expect(texts()).toEqual([expect.stringContaining('as another user')])
  })
})

describe('the displayed time', () => {
  it('opens a sale at its instant, in the next frame, and then counts down in tenths', async () => {
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass()
    const opens_at = Date.now() + 12_345
    const window = { opens_at, closes_at: opens_at + 3_600_000 }
    wire().reply('watch', { slots: [slot(window)], sales: [sale(window)] })
    await pass(2_345)
    const before = useLive().now
    await pass(100)
    expect(useLive().now).toBeGreaterThan(before)
    await pass(opens_at - 1 - Date.now())
    expect(phaseAt(sale(window), useLive().now)).toBe('upcoming')
    await pass(1 + FRAME_MS)
    expect(phaseAt(sale(window), useLive().now)).toBe('open')
  })
})

describe('freshness', () => {
  it('becomes connecting soon after the last frame, and live at the next one', async () => {
    await connect()
    expect(useLive().freshness).toBe('live')
    await pass(60_000)
    expect(useLive().freshness).toBe('live')
    wire().serverClock = undefined
    await pass(5_000)
    expect(useLive().freshness).toBe('connecting')
    expect(useLive().canRequest).toBe(false)
    expect(document.documentElement.dataset.freshness).toBe('connecting')
    wire().deliver({ ev: 'tick', now: Date.now(), sales: [] })
    await pass(400)
    expect(useLive().freshness).toBe('live')
  })

  it('withdraws the notice of a lost connection', async () => {
    await connect()
    useOrders().upsert(order())
    const cancelled = shop.cancel(order())
    wire().drop()
    await cancelled
    expect(useNotices().notices).toHaveLength(1)
    expect(useLive().freshness).toBe('lost')
    await pass(5_000)
    await connect()
    expect(useNotices().notices).toEqual([])
    expect(useLive().freshness).toBe('live')
  })
})

describe('the network of the browser', () => {
  it('shows the offline state at once, and reconnects only when the network is back', async () => {
    await connect()
    const first = wire()
    window.dispatchEvent(new Event('offline'))
    expect(useLive().freshness).toBe('lost')
    expect(useLive().retryAt).toBe(0)
    await pass(120_000)
    expect(wire()).toBe(first)
    window.dispatchEvent(new Event('online'))
    expect(wire()).not.toBe(first)
    await connect()
    expect(useLive().freshness).toBe('live')
  })

  it('reconnects when it becomes visible again, because a suspended tab misses the event `online`', async () => {
    await connect()
    const first = wire()
    window.dispatchEvent(new Event('offline'))
    document.dispatchEvent(new Event('visibilitychange'))
    expect(wire()).not.toBe(first)
  })

  it('plans no attempt if a connection fails while the browser is offline', async () => {
    await connect()
    vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
    wire().drop()
    expect(useLive().isOffline).toBe(true)
  })
})

describe('the chart', () => {
  it('samples only while the numbers of the displayed slot arrive', async () => {
    await connect()
    await pass(2_000)
    const before = useRates().samples.length
    expect(before).toBeGreaterThan(2)
    wire().drop()
    await pass(5_000)
    expect(useRates().samples).toHaveLength(before)
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass(1_000)
    expect(useRates().samples).toHaveLength(before) // the sales have not arrived
  })
})

describe('watching', () => {
  it('applies ticks and reloads everything after a reconnect', async () => {
    await connect()
    const line = { id: '11', stock: 3, held: 0, sold: 97, done: 97, rate: 2, watching: 9 }
    wire().deliver({ ev: 'tick', now: Date.now(), sales: [line] })
    expect(useSales().byId.get('11')?.stock).toBe(3)
    wire().drop()
    await pass(5_000)
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass()
    expect(wire().last('watch')).toMatchObject({ slot: '1' })
  })
})

describe('slots', () => {
  const MINUTE = 60_000

  it('change without a gap on request: the next one is watched before it opens, the last one is unwatched', async () => {
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass()
    const edge = Date.now() + MINUTE
    const day = [
      slot({ id: '1', opens_at: edge - 5 * MINUTE, closes_at: edge }),
      slot({ id: '2', phase: 'upcoming', opens_at: edge, closes_at: edge + 5 * MINUTE }),
    ]
    wire().reply('watch', { slots: day, sales: [sale()] })
    await pass(30_000)
    expect(wire().sent.filter((frame) => frame.op === 'watch')).toHaveLength(1)
    // Each page sends its request at its own moment, 20 to 10 seconds before the opening; the reply follows at once.
    while (wire().last('watch').slot !== '2' && Date.now() < edge - 9_000) await pass(500)
    expect(wire().last('watch').slot).toBe('2')
    wire().reply('watch', { slots: day, sales: [sale({ id: '22', slot: '2' })] })
    await pass()
    expect(useSales().shown?.map(({ id }) => id)).toEqual(['11'])
    await pass(edge - Date.now() + 300)
    expect(useSales().shown?.map(({ id }) => id)).toEqual(['11'])
    expect(wire().last('unwatch').slot).toBe('1')
    const sent = wire().sent.length
    useSlots().choose(useSlots().next?.id ?? '')
    await pass()
    expect(useSales().shown?.map(({ id }) => id)).toEqual(['22'])
    expect(wire().sent.slice(sent)).toEqual([])
  })

  it('that are deleted stay visible if they were loaded, and are not requested again', async () => {
    await connect()
    wire().drop()
    await pass(5_000)
    wire().open()
    wire().reply('hello', welcome({ now: Date.now() }))
    await pass()
    wire().refuse('watch', 'not_found')
    await pass(1_000)
    const fresh = { opens_at: Date.now() - MINUTE, closes_at: Date.now() + MINUTE }
    wire().reply('watch', { slots: [slot({ id: '2', ...fresh })], sales: [sale({ id: '22', slot: '2' })] })
    await pass(5_000)
    expect(useSales().shown?.map(({ id, phase }) => `${id} ${phase}`)).toEqual(['11 closed'])
    expect(useSlots().next?.id).toBe('2')
    expect(wire().sent.filter((frame) => frame.op === 'watch' && frame.slot === '1')).toHaveLength(1)
  })

  it('that are deleted before they are loaded are replaced by the current one', async () => {
    await connect()
    useSlots().change(
      slot({ id: '9', opens_at: Date.now() + 60 * MINUTE, closes_at: Date.now() + 65 * MINUTE }),
    )
    useSlots().choose('9')
    await pass()
    wire().refuse('watch', 'not_found')
    await pass(1_000)
    expect(wire().last('watch').slot).toBeUndefined()
    expect(useSlots().shown?.id).toBe('1')
  })
})

describe('paying', () => {
  it('opens the gateway, retries while the shop is busy, and trusts only the event', async () => {
    await connect()
    const tab = { opener: null, closed: false, location: { replace: vi.fn() }, close: vi.fn() }
    vi.stubGlobal('open', () => tab)
    const own = order({ pay_until: Date.now() + 60_000 })
    useOrders().upsert(own)
    const paid = shop.pay(own)
    void shop.pay(own)
    expect(wire().sent.filter((frame) => frame.op === 'pay')).toHaveLength(1)
    expect(wire().last('pay')).toMatchObject({ order: own.id, via: 'page' })
    wire().refuse('pay', 'busy')
    await pass(1_000)
    wire().reply('pay', { url: 'https://pay.example/?a=1', pay_by: own.pay_until })
    await paid
    expect(tab.location.replace).toHaveBeenCalledWith('https://pay.example/?a=1')
    expect(useOrders().byId.get(own.id)?.state).toBe('pending')
    const event = {
      ev: 'order',
      cursor: '1-9',
      key: 'k',
      order: { ...own, state: 'paid', rev: own.rev + 1 },
    }
    wire().deliver(event)
    expect(useOrders().byId.get(own.id)?.state).toBe('paid')
  })

  it('obtains a code for the phone and stays on the page', async () => {
    await connect()
    const tab = vi.fn()
    vi.stubGlobal('open', tab)
    const code = shop.payCode(order({ pay_until: Date.now() + 60_000 }))
    expect(wire().last('pay')).toMatchObject({ order: '101', via: 'qr' })
    wire().refuse('pay', 'busy')
    await pass(1_000)
    wire().reply('pay', { qr: 'https://qr.example/1', pay_by: 61_100 })
    expect(await code).toEqual({ text: 'https://qr.example/1' })
    expect(tab).not.toHaveBeenCalled()
  })

  it('reports soon why there is no code', async () => {
    await connect()
    const busy = shop.payCode(order())
    wire().refuse('pay', 'busy')
    await pass(1_000)
    wire().refuse('pay', 'busy')
    expect(await busy).toEqual({ problem: 'busy' })
    const lost = shop.payCode(order())
    wire().drop()
    expect(await lost).toEqual({ problem: 'lost' })
    expect(useNotices().notices).toEqual([])
  })

  it('closes the tab and explains that the order is no longer payable', async () => {
    await connect()
    const tab = { opener: null, closed: false, location: { replace: vi.fn() }, close: vi.fn() }
    vi.stubGlobal('open', () => tab)
    const paid = shop.pay(order({ pay_until: Date.now() + 60_000 }))
    wire().refuse('pay', 'order_expired')
    await paid
    expect(tab.close).toHaveBeenCalled()
    expect(useNotices().notices).toHaveLength(1)
  })
})
