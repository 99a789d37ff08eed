// Opens the complete logic of the page, on a connection that the test controls.
import { afterEach, beforeEach, vi } from 'vitest'
import type { Order } from '../protocol/types'
import { router } from '../router'
import { openShop, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { FakeWire } from './fakewire'
import { order, sale, slot, welcome } from './samples'

/** All connections that the page has opened, newest last. */
export const wires: FakeWire[] = []
/** The shop of the open page. */
export let shop: Shop

/** The response of the guest endpoint, as a mock that records its requests. */
export const guest = vi.fn<(init?: RequestInit) => { status: number; body: unknown }>()

export function tokenOf(user: string, expires: number): string {
  const part = (value: object): string => btoa(JSON.stringify(value))
  return `${part({})}.${part({ sub: user, exp: expires / 1000 })}.s`
}

export function wire(): FakeWire {
  const newest = wires.at(-1)
  if (!newest) throw new Error('no connection was opened')
  return newest
}

export async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** Replies to hello, watch and orders like a server during a sale. */
export async function connect(
  over: Parameters<typeof welcome>[0] = {},
  orders: readonly Order[] = [],
): Promise<void> {
  wire().open()
  wire().reply('hello', welcome({ now: Date.now(), ...over }))
  await pass()
  const window = { opens_at: Date.now() - 60_000, closes_at: Date.now() + 3_600_000 }
  wire().reply('watch', { slots: [slot(window)], sales: [sale(window)] })
  if (wire().sent.some((frame) => frame.op === 'orders')) wire().reply('orders', { orders, more: false })
  await pass()
}

export function pendingEvent() {
  const key = wires.flatMap((w) => w.sent).findLast((frame) => frame.op === 'buy')?.key
  return { ev: 'order' as const, cursor: '1-6', key, order: order({ pay_until: Date.now() + 60_000 }) }
}

/** Every test of the file starts with a new page and a fake clock. */
export function visitedBeforeEach(): void {
  beforeEach(start)
  afterEach(end)
}

async function start(): Promise<void> {
  vi.useFakeTimers()
  localStorage.clear()
  wires.length = 0
  guest.mockReset()
  guest.mockImplementation(() => ({
    status: 200,
    body: { access: tokenOf('7', Date.now() + 3_600_000), user: { id: '7', name: 'G' } },
  }))
  vi.stubGlobal('fetch', (_: string, init?: RequestInit) => {
    const { status, body } = guest(init)
    return Promise.resolve({ ok: status < 300, status, json: () => Promise.resolve(body) })
  })
  // One tab, so a lock is always free.
  const request = (_: string, run: () => unknown): unknown => run()
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } })
  await visit()
}

let endStores: (() => void) | undefined

/** Closes the previous page, which then receives nothing. */
function leave(): void {
  if (!endStores) return
  shop.close()
  endStores()
  endStores = undefined
}

/** Opens a page in this browser, for the first time or again. */
export async function visit(): Promise<void> {
  leave()
  await router.replace('/')
  endStores = freshStores()
  shop = openShop(() => {
    const fresh = new FakeWire()
    fresh.serverClock = Date.now
    wires.push(fresh)
    return fresh
  })
  await pass()
}

function end(): void {
  leave()
  vi.restoreAllMocks()
  vi.useRealTimers()
  vi.unstubAllGlobals()
}
