// @vitest-environment happy-dom
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Op, OpFields } from '../protocol/types'
import { FakeWire } from '../testing/fakewire'
import { welcome } from '../testing/samples'
import { Lost, Refused, Unreadable } from './ops'
import { LiveSocket, type Listener } from './socket'

const wires: FakeWire[] = []
let cursor: string
let listener: { [K in keyof Listener]: ReturnType<typeof vi.fn<Listener[K]>> }
let socket: LiveSocket

function wire(): FakeWire {
  const newest = wires.at(-1)
  if (!newest) throw new Error('no connection was opened')
  return newest
}

async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0)
}

async function connect(): Promise<void> {
  wire().open()
  wire().reply('hello', welcome())
  await settled()
}

beforeEach(() => {
  vi.useFakeTimers()
  wires.length = 0
  cursor = ''
  listener = {
    helloFields: vi.fn(() => ({ token: 't', cursor })),
    helloSent: vi.fn(),
    welcomed: vi.fn(),
    rejected: vi.fn(),
    connectFailed: vi.fn(),
    received: vi.fn(),
    receivedUnknown: vi.fn(),
    changed: vi.fn(),
  }
  socket = new LiveSocket(listener, () => {
    const fresh = new FakeWire()
    wires.push(fresh)
    return fresh
  })
  socket.reconnect()
})

afterEach(() => {
  socket.close()
  vi.useRealTimers()
})

describe('hello', () => {
  it('is the first op, and its reply makes the socket live', async () => {
    wire().open()
    expect(wire().sent).toMatchObject([{ op: 'hello', token: 't' }])
    expect(socket.state.name).toBe('connecting')
    await connect()
    expect(socket.state.name).toBe('live')
    expect(listener.welcomed).toHaveBeenCalledOnce()
  })

  it('with a rejected token requests a new one and waits', async () => {
    wire().open()
    wire().refuse('hello', 'unauthorized')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(listener.rejected).toHaveBeenCalledOnce()
    expect(wires).toHaveLength(1)
  })

  it('without a reply closes the connection and opens another one', async () => {
    wire().open()
    await vi.advanceTimersByTimeAsync(11_000)
    expect(wires[0]?.closed).toBe(true)
    expect(wires.length).toBeGreaterThan(1)
  })
})

describe('an op sent directly after the hello', () => {
  it('does not wait for its reply', async () => {
    const pending: Promise<unknown>[] = []
    listener.helloSent.mockImplementation((send) => void pending.push(send('watch', {})))
    wire().open()
    expect(wire().sent.map(({ op }) => op)).toEqual(['hello', 'watch'])
    wire().reply('hello', welcome())
    wire().reply('watch', { slots: [], sales: [] })
    expect(await pending[0]).toEqual({ slots: [], sales: [] })
  })

  it('is lost with the connection if the hello is rejected', async () => {
    let pending: Promise<unknown> = Promise.resolve()
    listener.helloSent.mockImplementation((send) => (pending = send('watch', {})))
    wire().open()
    const lost = expect(pending).rejects.toThrow(Lost)
    wire().refuse('hello', 'unauthorized')
    await settled()
    await lost
  })

  it('waits for a delayed hello', async () => {
    let resolveHello: (hello: OpFields['hello']) => void = () => undefined
    listener.helloFields.mockReturnValue(new Promise((resolve) => (resolveHello = resolve)))
    wire().open()
    expect(wire().sent).toEqual([])
    expect(socket.isHelloSent).toBe(false)
    resolveHello({ token: 'late' })
    await settled()
    expect(wire().last('hello')).toMatchObject({ token: 'late' })
    expect(socket.isHelloSent).toBe(true)
  })
})

describe('silence', () => {
  it('is detected 3 s after the last frame if a reply is overdue', async () => {
    await connect()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(socket.isSilent).toBe(false)
    wire().deliver({ ev: 'notice', level: 'info', text: 'a word' })
    await vi.advanceTimersByTimeAsync(1_500)
    socket.request('time', { t0: 1 }).catch(() => undefined)
    await vi.advanceTimersByTimeAsync(1_400)
    expect(socket.isSilent).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
    expect(socket.isSilent).toBe(true)
    wire().reply('time', { t0: 1, now: 2 })
    expect(socket.isSilent).toBe(false)
  })

  it('is detected as soon if a frame arrives after an unanswered request', async () => {
    await connect()
    socket.request('time', { t0: 1 }).catch(() => undefined)
    wire().deliver({ ev: 'notice', level: 'info', text: 'the last word' })
    await vi.advanceTimersByTimeAsync(2_900)
    expect(socket.isSilent).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
    expect(socket.isSilent).toBe(true)
  })

  it('ends with a frame, not with a new connection attempt', async () => {
    await connect()
    wire().drop()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(socket.state.name).toBe('connecting')
    expect(socket.isSilent).toBe(true)
    await connect()
    expect(socket.isSilent).toBe(false)
  })
})

describe('reconnect (P6)', () => {
  it('sends hello with the newest cursor', async () => {
    await connect()
    cursor = '1-42'
    wire().drop()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(wires).toHaveLength(2)
    wire().open()
    expect(wire().last('hello')).toMatchObject({ cursor: '1-42' })
  })

  it('waits longer after each failure and resets after a success', async () => {
    const delays: number[] = []
    for (let n = 0; n < 5; n++) {
      wire().drop()
      const delay = socket.state.name === 'waiting' ? socket.state.delayMs : 0
      delays.push(delay)
      await vi.advanceTimersByTimeAsync(delay)
    }
    expect(delays.at(-1)).toBeGreaterThan((delays[0] ?? 0) * 4)
    await connect()
    wire().drop()
    expect(socket.state).toMatchObject({ name: 'waiting' })
    expect((socket.state as { delayMs: number }).delayMs).toBeLessThanOrEqual(400)
  })

  it('waits for the pause in `bye`', async () => {
    await connect()
    wire().deliver({ ev: 'bye', code: 4000, retry_ms: 1730 })
    wire().drop(4000)
    expect(socket.state).toEqual({ name: 'waiting', delayMs: 1730, drained: true })
    await vi.advanceTimersByTimeAsync(1_729)
    expect(wires).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(wires).toHaveLength(2)
  })

  it.each([4500, 4503, 4999])('does not reconnect after close code %i', async (code) => {
    await connect()
    wire().drop(code)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(socket.state).toEqual({ name: 'stopped', code })
    expect(wires).toHaveLength(1)
  })

  it('ignores events of an abandoned connection', async () => {
    await connect()
    const old = wire()
    socket.reconnect()
    old.deliver({ ev: 'notice', level: 'info', text: 'late' })
    old.drop()
    expect(listener.received).not.toHaveBeenCalled()
    expect(wires).toHaveLength(2)
  })
})

describe('ops', () => {
  it('match replies by id, in any order', async () => {
    await connect()
    const first = socket.request('cancel', { order: '1' })
    const second = socket.request('cancel', { order: '2' })
    const [one, two] = wire().sent.slice(-2)
    wire().deliver({ id: two?.id, ok: { state: 'expired' } })
    wire().deliver({ id: one?.id, ok: { state: 'cancelled' } })
    expect(await first).toEqual({ state: 'cancelled' })
    expect(await second).toEqual({ state: 'expired' })
  })

  it("fail with the server's reason", async () => {
    await connect()
    const pending = socket.request('buy', { sale: '1', qty: 1, key: 'k-3f9c1d2e' })
    wire().refuse('buy', 'sold_out')
    await expect(pending).rejects.toThrow(Refused)
  })

  it('are lost, not failed, after a broken or silent connection (I6)', async () => {
    await connect()
    const broken = socket.request('buy', { sale: '1', qty: 1, key: 'k-3f9c1d2e' })
    wire().drop()
    await expect(broken).rejects.toThrow(Lost)
    await vi.advanceTimersByTimeAsync(1_000)
    await connect()
    const silent = expect(socket.request('orders', {})).rejects.toThrow(Lost)
    await vi.advanceTimersByTimeAsync(8_000)
    await silent
  })

  it('are unknown, not failed, after an unreadable reply or an unsent frame (I6)', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    await connect()
    const pending = socket.request('buy', { sale: '1', qty: 1, key: 'k-3f9c1d2e' })
    wire().reply('buy', { order: 101 })
    await expect(pending).rejects.toThrow(Unreadable)
    await expect(pending).rejects.toThrow(Lost)
    warn.mockRestore()
    wire().send = () => {
      throw new DOMException('closing', 'InvalidStateError')
    }
    await expect(socket.request('orders', {})).rejects.toThrow(Lost)
  })

  it('are not sent on a closing connection, and are lost with it', async () => {
    await connect()
    wire().readyState = 2 // closing
    const pending = socket.request('orders', {})
    expect(wire().sent.map(({ op }) => op)).not.toContain('orders')
    wire().drop()
    await expect(pending).rejects.toThrow(Lost)
  })

  it('ignore malformed frames', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    await connect()
    wire().deliver('{"ev":"tick"')
    wire().deliver({ ev: 'notice', level: 'info', text: 'fine' })
    expect(listener.received).toHaveBeenCalledOnce()
    expect(warn).toHaveBeenCalledOnce()
    warn.mockRestore()
  })

  it('equal the golden frames', async () => {
    const folder = join(import.meta.dirname, '../../../realtime/testdata/protocol')
    interface Golden {
      direction: string
      frame: { id: number; op: Op } & Record<string, unknown>
    }
    await connect()
    for (const file of readdirSync(folder)) {
      const golden = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Golden[]
      for (const { frame } of golden.filter(({ direction }) => direction === 'client')) {
        const { id, op, ...fields } = frame
        socket.request(op, fields as unknown as OpFields[Op]).catch(() => undefined)
        expect({ ...wire().last(op), id }).toEqual(frame)
      }
    }
  })
})
