// @vitest-environment happy-dom
import { describe, expect, it, vi } from 'vitest'
import { useLive } from '../stores/live'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { sale, slot, welcome } from '../testing/samples'
import { connect, guest, pass, shop, tokenOf, visit, visitedBeforeEach, wire, wires } from '../testing/visit'

visitedBeforeEach()

describe('signing in', () => {
  it('sends the token and, after the first hello, the cursor', async () => {
    expect(guest).toHaveBeenCalledOnce()
    await connect()
    expect(wire().last('hello').token).toBe(useSession().token)
    expect(wire().last('hello').cursor).toBeUndefined()
    wire().drop()
    await pass(5_000)
    wire().open()
    expect(wire().last('hello').cursor).toBe('1-5')
  })

  it('renews the token before its expiry, as the same user, without a reconnect', async () => {
    await connect()
    const old = useSession().token ?? ''
    await pass(31 * 60_000)
    expect(guest).toHaveBeenCalledTimes(2)
    expect(guest.mock.lastCall?.[0]?.headers).toEqual({ Authorization: `Bearer ${old}` })
    expect(wire().last('renew').token).not.toBe(old)
    expect(wires).toHaveLength(1)
  })

  it('renews a rejected token as the same guest', async () => {
    wire().open()
    wire().refuse('hello', 'unauthorized')
    await pass(1_000)
    expect(guest).toHaveBeenCalledTimes(2)
    expect(guest.mock.lastCall?.[0]?.headers).toHaveProperty('Authorization')
    await connect()
    expect(useLive().ready).toBe(true)
  })

  it.each([
    ['the server refuses to renew it', { status: 401, body: {} }],
    [
      'the server returns another guest',
      { status: 200, body: { access: 'a.e30.s', user: { id: '8', name: 'H' } } },
    ],
  ])('reports an expired token before it replaces the guest: %s', async (_, respond) => {
    await connect()
    wire().drop()
    await pass(5_000)
    guest.mockReturnValue(respond)
    wire().open()
    wire().refuse('hello', 'unauthorized')
    await pass()
    wire().open()
    await pass()
    wire().reply('hello', { ...welcome({ now: Date.now() }), user: undefined })
    await pass(60_000)
    expect(useSession().ended).toBe(true)
    expect(useSession().user?.id).toBe('7')
    expect(localStorage.getItem('stampede.session')).toContain('"7"')
    expect(guest).toHaveBeenCalledTimes(2)
    // Watching continues meanwhile, also after a reload, which shows the ended guest again.
    expect(wire().last('hello').token).toBeUndefined()
    expect(wire().last('watch')).toBeDefined()
    await visit()
    wire().open()
    wire().refuse('hello', 'unauthorized')
    await pass(1_000)
    expect(useSession().ended).toBe(true)

    guest.mockReturnValue({
      status: 200,
      body: { access: tokenOf('8', Date.now() + 3_600_000), user: { id: '8', name: 'H' } },
    })
    expect(await shop.startOver()).toBe(true)
    expect(guest.mock.lastCall?.[0]?.headers).toEqual({})
    expect(useSession().user?.id).toBe('8')
    expect(useSession().ended).toBe(false)
  })

  it('adopts the newer token and the new guest of another tab', async () => {
    await connect()
    const store = (user: string, life: number): void => {
      const stored = { access: tokenOf(user, Date.now() + life), user: { id: user, name: 'G' } }
      localStorage.setItem('stampede.session', JSON.stringify(stored))
      window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.session' }))
    }
    store('7', 7_200_000)
    expect(wire().last('renew').token).toBe(useSession().token)
    expect(wires).toHaveLength(1)
    store('8', 7_200_000)
    expect(useSession().user?.id).toBe('8')
    expect(wires).toHaveLength(2)
    expect(guest).toHaveBeenCalledOnce()
  })

  it('does not request a token that another tab has obtained', async () => {
    localStorage.clear()
    const held: (() => void)[] = []
    const request = (_: string, run: () => unknown): Promise<unknown> =>
      new Promise((resolve) => held.push(() => resolve(run())))
    Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } })
    await visit()
    const stored = { access: tokenOf('9', Date.now() + 3_600_000), user: { id: '9', name: 'G' } }
    localStorage.setItem('stampede.session', JSON.stringify(stored))
    held.forEach((run) => run())
    await pass()
    expect(useSession().user?.id).toBe('9')
    expect(guest).toHaveBeenCalledOnce()
    wire().open()
    expect(wire().last('hello').token).toBe(stored.access)
  })

  it('watches while a guest is requested, and reconnects with the token', async () => {
    localStorage.clear()
    let respond: (value: unknown) => void = () => undefined
    vi.stubGlobal('fetch', () => new Promise((resolve) => (respond = resolve)))
    await visit()
    wire().open()
    expect(wire().sent).toEqual([])
    await pass(300)
    expect(wire().sent.map(({ op }) => op)).toEqual(['hello', 'watch'])
    wire().reply('hello', { ...welcome({ now: Date.now() }), user: undefined })
    wire().reply('watch', { slots: [slot()], sales: [sale()] })
    await pass()
    expect(useSales().shown).toHaveLength(1)
    const body = { access: tokenOf('7', Date.now() + 3_600_000), user: { id: '7', name: 'G' } }
    respond({ ok: true, status: 200, json: () => Promise.resolve(body) })
    await pass()
    // The page does not report a lost connection, because the connection is replaced.
    expect(useLive().freshness).toBe('live')
    await connect()
    expect(wire().last('hello').token).toBe(body.access)
    expect(useLive().ready).toBe(true)
  })

  it('uses a token that arrives while it connects', async () => {
    localStorage.clear()
    await visit()
    wire().open()
    expect(wire().last('hello').token).toBeDefined()
    expect(wires).toHaveLength(2)
  })

  it('reconnects with a new token after the old one expires', async () => {
    await connect()
    wire().deliver({ ev: 'bye', code: 4504, retry_ms: 0 })
    wire().drop(4504)
    await pass(1_000)
    expect(wires.length).toBeGreaterThan(1)
    await connect()
    expect(useLive().ready).toBe(true)
  })

  it('watches without a user if guests are disabled', async () => {
    localStorage.clear()
    guest.mockReturnValue({ status: 403, body: { error: { code: 'forbidden', message: 'off' } } })
    await visit()
    expect(useSession().guestsOff).toBe(true)
    wire().open()
    wire().reply('hello', { ...welcome({ now: Date.now() }), user: undefined })
    await pass()
    expect(useLive().isLive).toBe(true)
    expect(useLive().ready).toBe(false)
  })
})
