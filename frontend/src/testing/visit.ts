// The whole page's logic, opened as a visitor opens it, on a line that the test answers.
import { createPinia, disposePinia, setActivePinia, type Pinia } from 'pinia'
import { afterEach, beforeEach, vi } from 'vitest'
import { openShop, type Shop } from '../shop/open'
import { FakeWire } from './fakewire'
import { order, sale, slot, welcome } from './samples'

/** All lines that the page has dialled, the newest last. */
export const wires: FakeWire[] = []
/** The shop of the page that is open now. */
export let shop: Shop

/** What the guest endpoint answers, and what it was asked. */
export const guest = vi.fn<(init?: RequestInit) => { status: number; body: unknown }>()

export function tokenOf(user: string, expires: number): string {
  const part = (value: object): string => btoa(JSON.stringify(value))
  return `${part({})}.${part({ sub: user, exp: expires / 1000 })}.s`
}

export function wire(): FakeWire {
  const newest = wires.at(-1)
  if (!newest) throw new Error('nobody dialled')
  return newest
}

export async function pass(ms = 0): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** Answers hello, watch and orders the way a server in the middle of a sale does. */
export async function goLive(over: Parameters<typeof welcome>[0] = {}): Promise<void> {
  wire().open()
  wire().answer('hello', welcome({ now: Date.now(), ...over }))
  await pass()
  const window = { opens_at: Date.now() - 60_000, closes_at: Date.now() + 3_600_000 }
  wire().answer('watch', { slots: [slot(window)], sales: [sale(window)] })
  if (wire().sent.some((frame) => frame.op === 'orders')) wire().answer('orders', { orders: [], more: false })
  await pass()
}

export function pendingEvent() {
  const key = wires.flatMap((w) => w.sent).findLast((frame) => frame.op === 'buy')?.key
  return { ev: 'order' as const, cursor: '1-6', key, order: order({ pay_by: Date.now() + 60_000 }) }
}

/** Every test of the file begins with a page that has just been opened, on a clock of its own. */
export function visitedBeforeEach(): void {
  beforeEach(begin)
  afterEach(end)
}

async function begin(): Promise<void> {
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
  // One tab, which never waits for a lock.
  const request = (_: string, run: () => unknown): unknown => run()
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } })
  await visit()
}

let pinia: Pinia | undefined

/** The page before is closed: it hears nothing any more. */
function leave(): void {
  if (!pinia) return
  shop.close()
  disposePinia(pinia)
  pinia = undefined
}

/** A page is opened in this browser, for the first time or again. */
export async function visit(): Promise<void> {
  leave()
  setActivePinia((pinia = createPinia()))
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
