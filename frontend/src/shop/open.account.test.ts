// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { useAccountClient } from '../account/client'
import type { Order } from '../protocol/types'
import { useAccountSheet } from '../stores/accountsheet'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { useSession } from '../stores/session'
import { order, sale, slot, welcome } from '../testing/samples'
import { connect, pass, shop, tokenOf, visit, visitedBeforeEach, wire, wires } from '../testing/visit'

const SIGNED_OUT = 4506
const LIFE_MS = 900_000

/** The responses of the account routes by path, and the recorded requests. */
const responses = new Map<string, { status: number; body?: unknown }>()
const requests: { path: string; headers: Record<string, string>; body: unknown }[] = []

visitedBeforeEach()
beforeEach(() => {
  requests.length = 0
  responses.clear()
  const guests = fetch
  vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => {
    const path = url.replace('/api/v1', '')
    if (path === '/auth/guest' && !responses.has(path)) return guests(url, init)
    const body: unknown = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
    requests.push({ path, headers: init.headers as Record<string, string>, body })
    const { status, body: content = {} } = responses.get(path) ?? { status: 404 }
    return Promise.resolve({ ok: status < 300, status, json: () => Promise.resolve(content) })
  })
})

function welcomeAs(user: string): { status: number; body: unknown } {
  const access = tokenOf(user, Date.now() + LIFE_MS)
  return { status: 200, body: { access, user: { id: user, name: 'Li Lei', role: 'shopper' } } }
}

async function logIn(user: string, orders: Order[] = []): Promise<void> {
  responses.set('/auth/login', welcomeAs(user))
  responses.set('/me/addresses', { status: 200, body: { addresses: [] } })
  const session = await useAccountClient().login({ email: 'a@b.c', password: 'p', device: 'd' })
  shop.logIn(session)
  await pass(10)
  await connect({ user: { id: user, name: 'Li Lei' } }, orders)
}

function storage(): string {
  return JSON.stringify({ ...localStorage })
}

const refreshes = () => requests.filter(({ path }) => path === '/auth/refresh')

describe('an account', () => {
  it('keeps its token in memory and obtains a new one by the cookie after a reload', async () => {
    await connect()
    await logIn('7')
    const { access } = (responses.get('/auth/login')?.body ?? {}) as { access: string }
    expect(wire().last('hello').token).toBe(access)
    expect(storage()).not.toContain(access)
    responses.set('/auth/refresh', welcomeAs('7'))
    await visit()
    expect(refreshes()).toHaveLength(1)
    expect(refreshes()[0]?.headers).toMatchObject({ 'X-Stampede': '1' })
    expect(useSession().user).toEqual({ id: '7', name: 'Li Lei' })
    wire().open()
    expect(wire().last('hello').token).toBe(useSession().token)
    expect(storage()).not.toContain('"access')
  })

  it('renews its token before the expiry, without a reconnect', async () => {
    await connect()
    await logIn('7')
    const lines = wires.length
    responses.set('/auth/refresh', welcomeAs('7'))
    await pass(LIFE_MS / 2 + 1_000)
    expect(refreshes()).toHaveLength(1)
    expect(wire().last('renew').token).toBe(useSession().token)
    expect(wires).toHaveLength(lines)
  })

  it('keeps the orders of its former guest', async () => {
    await connect()
    useOrders().upsert(order())
    await logIn('7')
    expect(useOrders().all).toHaveLength(1)
    expect(useSession().isAccount).toBe(true)
  })

  it('restores the previous guest after the logout', async () => {
    await connect()
    useOrders().upsert(order())
    const guestToken = useSession().token
    usePreferences().setAddress({ name: 'G', phone: '1', text: 'S' })
    await logIn('9')
    expect(useOrders().all).toEqual([])
    expect(usePreferences().address).toBeUndefined()
    shop.logOut()
    await pass(10)
    expect(useSession().user?.id).toBe('7')
    expect(useSession().token).toBe(guestToken)
    wire().open()
    expect(wire().last('hello').token).toBe(guestToken)
  })

  it('is notified of a remote sign-out: its orders disappear, and it still watches', async () => {
    await connect()
    await logIn('7')
    useOrders().upsert(order())
    responses.set('/auth/refresh', { status: 401 })
    wire().deliver({ ev: 'bye', code: SIGNED_OUT, retry_ms: 0 })
    wire().drop(SIGNED_OUT)
    await pass(10)
    expect(useSession().ended).toBe(true)
    expect(useOrders().all).toEqual([])
    wire().open()
    expect(wire().last('hello').token).toBeUndefined()
    await pass(60_000)
    expect(refreshes()).toHaveLength(1)
    shop.logOut()
    await pass(10)
    expect(useSession().ended).toBe(false)
    expect(useSession().isAccount).toBe(false)
  })

  it('continues with a new token if only the old one is invalid', async () => {
    await connect()
    await logIn('7')
    const old = useSession().token
    responses.set('/auth/refresh', { ...welcomeAs('7'), body: { access: 'a.e30.fresh', user: { id: '7' } } })
    wire().drop(SIGNED_OUT)
    await pass(10)
    await connect({ user: { id: '7', name: '' } })
    expect(useLive().ready).toBe(true)
    expect(useSession().token).not.toBe(old)
  })

  it('retries while the shop is unreachable and stays logged in', async () => {
    await connect()
    await logIn('7')
    responses.set('/auth/refresh', { status: 503 })
    await visit()
    expect(useSession().ended).toBe(false)
    responses.set('/auth/refresh', welcomeAs('7'))
    await pass(5_000)
    expect(useSession().usable()).toBe(true)
  })

  it('is adopted by other tabs with one refresh each, and no tab becomes a guest', async () => {
    await connect()
    responses.set('/auth/refresh', welcomeAs('9'))
    localStorage.setItem('stampede.session', JSON.stringify({ user: { id: '9', name: 'L' }, account: true }))
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.session' }))
    await pass(10)
    expect(useSession().user?.id).toBe('9')
    expect(refreshes()).toHaveLength(1)
    expect(useSession().usable()).toBe(true)
  })

  it('retries once with a new token after a rejection', async () => {
    await connect()
    await logIn('7')
    responses.set('/me/devices', { status: 401 })
    responses.set('/auth/refresh', {
      status: 200,
      body: { access: 'a.e30.fresh', user: { id: '7', name: '' } },
    })
    await expect(useAccountClient().devices()).rejects.toThrow('unauthorized')
    const tokens = requests
      .filter(({ path }) => path === '/me/devices')
      .map(({ headers }) => headers.Authorization)
    expect(tokens).toHaveLength(2)
    expect(tokens[1]).toBe('Bearer a.e30.fresh')
    responses.set('/me/password', { status: 401 })
    await expect(useAccountClient().changePassword('old', 'new')).rejects.toThrow('unauthorized')
    expect(requests.filter(({ path }) => path === '/me/password')).toHaveLength(1)
  })

  it('is not ended by a late response for its former guest', async () => {
    await connect()
    let respond: (value: unknown) => void = () => undefined
    const others = fetch
    vi.stubGlobal('fetch', (url: string, init?: RequestInit) =>
      url.endsWith('/auth/guest') ? new Promise((resolve) => (respond = resolve)) : others(url, init),
    )
    // The server closes the guest's connection as soon as the account is logged in.
    wire().drop(SIGNED_OUT)
    await pass(10)
    await logIn('7')
    respond({ ok: false, status: 401, json: () => Promise.resolve({}) })
    await pass(1_000)
    expect(useSession().ended).toBe(false)
    expect(useSession().isAccount).toBe(true)
    expect(useLive().ready).toBe(true)
  })

  it('is notified of a block, and the page does not reconnect by itself', async () => {
    await connect()
    await logIn('7')
    wire().drop()
    await pass(5_000)
    wire().open()
    wire().refuse('hello', 'forbidden')
    await pass(60_000)
    expect(useLive().state).toEqual({ name: 'stopped', code: 4507 })
    expect(useSession().ended).toBe(false)
  })
})

describe('a buy without guests', () => {
  beforeEach(async () => {
    localStorage.clear()
    responses.set('/auth/guest', { status: 403, body: { error: { code: 'forbidden', message: 'off' } } })
    await visit()
    wire().open()
    wire().reply('hello', { ...welcome({ now: Date.now() }), user: undefined })
    await pass()
    wire().reply('watch', { slots: [slot()], sales: [sale()] })
    await pass()
    useAccountSheet().showForPurchase('11', 1)
    await pass()
  })

  it('opens the login and continues after it', async () => {
    useAccountSheet().show('register')
    useAccountSheet().show('login')
    await logIn('7')
    expect(wire().last('buy')).toMatchObject({ sale: '11', qty: 1 })
  })

  it('buys nothing if the account already has an order of the sale', async () => {
    await logIn('7', [order()])
    expect(wire().sent.some((frame) => frame.op === 'buy')).toBe(false)
  })

  it('ends when the shopper closes the login', async () => {
    useAccountSheet().close()
    await vi.waitFor(() => expect(useAccountSheet().isOpen).toBe(false))
    await logIn('7')
    expect(wire().sent.some((frame) => frame.op === 'buy')).toBe(false)
  })
})
