import { describe, expect, it, vi } from 'vitest'
import { Lost, Refused, Unreadable } from '../live/ops'
import type { BuyFields, ErrorCode, Order, Receipt } from '../protocol/types'
import { order } from '../testing/samples'
import { performAttempt, newKey, type Backend, type Attempt } from './attempt'

const attempt: Attempt = {
  key: 'k-3f9c1d2e',
  user: '7',
  sale: '11',
  qty: 2,
  product: 'Kettle',
  pressedAt: 0,
  address: { name: 'Li Lei', phone: '138', text: 'Street' },
}
const receipt: Receipt = { order: '101', ticket: 9, place: 0, state: 'reserved' }

function refused(code: ErrorCode, retry_ms = 0): Refused {
  return new Refused({ code, message: '', retry_ms, orders: [] })
}

/** A backend that returns the scripted replies in order. */
function backendWith(...outcomes: (Receipt | Error)[]) {
  const buys: BuyFields[] = []
  const pauses: number[] = []
  const passes: string[] = []
  const backend: Backend = {
    buy: (fields) => {
      buys.push(fields)
      const outcome = outcomes.shift()
      return outcome instanceof Error ? Promise.reject(outcome) : Promise.resolve(outcome ?? receipt)
    },
    user: () => '7',
    untilLive: () => Promise.resolve(),
    orderOf: () => undefined,
    pause: (ms) => {
      pauses.push(ms)
      return Promise.resolve()
    },
    passFor: () => passes.at(-1),
    obtainPass: vi.fn(() => Promise.resolve(passes.push(`pass ${String(passes.length + 1)}`) > 0)),
  }
  return { backend, buys, pauses, passes }
}

describe('a buy attempt', () => {
  it('sends one request if the outcome is clear', async () => {
    const { backend, buys } = backendWith(receipt)
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'reserved', receipt })
    expect(buys).toEqual([{ sale: '11', qty: 2, key: attempt.key, address: attempt.address }])
  })

  it('is repeated with the same key and content until the outcome is known (P4, I6)', async () => {
    const { backend, buys, pauses } = backendWith(
      refused('busy', 700),
      new Lost('connection lost'),
      new Unreadable('invalid reply'),
      new Error('a bug in the page'),
      refused('internal'),
      receipt,
    )
    const repeating = vi.fn()
    const errorLog = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    expect(await performAttempt(attempt, backend, repeating)).toEqual({ kind: 'reserved', receipt })
    expect(buys).toHaveLength(6)
    for (const fields of buys) expect(fields).toEqual(buys[0])
    expect(repeating).toHaveBeenCalledTimes(5)
    expect(pauses[0]).toBe(700)
    expect(errorLog).toHaveBeenCalledOnce()
    errorLog.mockRestore()
  })

  it.each<ErrorCode>(['sold_out', 'limit_reached', 'closed', 'paused', 'duplicate_key', 'bad_request'])(
    'ends with %s',
    async (code) => {
      const { backend, buys } = backendWith(refused(code))
      expect(await performAttempt(attempt, backend, vi.fn())).toMatchObject({
        kind: 'refused',
        refusal: { code },
      })
      expect(buys).toHaveLength(1)
    },
  )

  it('waits if the sale opens soon, and fails if it opens much later', async () => {
    const backend = backendWith(refused('not_open', 120), receipt)
    expect(await performAttempt(attempt, backend.backend, vi.fn())).toEqual({ kind: 'reserved', receipt })
    expect(backend.pauses).toEqual([120])
    const muchLater = backendWith(refused('not_open', 60_000))
    expect(await performAttempt(attempt, muchLater.backend, vi.fn())).toMatchObject({ kind: 'refused' })
  })

  it('accepts an order event that arrives before the reply', async () => {
    const { backend, buys } = backendWith(new Lost('connection lost'))
    let settledOrder: Order | undefined
    backend.orderOf = () => settledOrder
    backend.pause = () => {
      settledOrder = order()
      return Promise.resolve()
    }
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'settled', order: order() })
    expect(buys).toHaveLength(1)
  })

  it('is not repeated for another user', async () => {
    const { backend, buys } = backendWith(new Lost('connection lost'), receipt)
    backend.pause = () => {
      backend.user = () => '8'
      return Promise.resolve()
    }
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'other_user' })
    expect(buys).toHaveLength(1)
  })

  it('waits for the connection before it sends a request', async () => {
    const { backend, buys } = backendWith(receipt)
    let connect: () => void = () => undefined
    backend.untilLive = () => new Promise((resolve) => (connect = resolve))
    const active = performAttempt(attempt, backend, vi.fn())
    await Promise.resolve()
    expect(buys).toHaveLength(0)
    connect()
    await active
    expect(buys).toHaveLength(1)
  })
})

describe('the keys of attempts', () => {
  it('have the allowed form and are unique', () => {
    const keys = Array.from({ length: 500 }, newKey)
    expect(new Set(keys).size).toBe(500)
    for (const key of keys) expect(key).toMatch(/^[A-Za-z0-9._-]{8,64}$/)
  })
})

describe('the pass of an attempt', () => {
  it('is obtained if the shop requires it, and sent with the same key', async () => {
    const { backend, buys, pauses } = backendWith(refused('pass_required'), receipt)
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'reserved', receipt })
    expect(buys.map(({ key, pass }) => [key, pass])).toEqual([
      [attempt.key, undefined],
      [attempt.key, 'pass 1'],
    ])
    // A challenge that the shopper has just solved adds no pause.
    expect(pauses).toEqual([])
  })

  it('is only requested if the shop requires it; an available pass is sent', async () => {
    const { backend, buys, passes } = backendWith(receipt)
    passes.push('ready')
    await performAttempt(attempt, backend, vi.fn())
    expect(backend.obtainPass).not.toHaveBeenCalled()
    expect(buys[0]?.pass).toBe('ready')
  })

  it('ends the attempt if the shopper gives up or the server rejects the passes', async () => {
    const { backend, buys } = backendWith(refused('captcha_required'))
    backend.obtainPass = () => Promise.resolve(false)
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'given_up' })
    expect(buys).toHaveLength(1)

    const closed = backendWith(...Array.from({ length: 9 }, () => refused('pass_required')))
    expect(await performAttempt(attempt, closed.backend, vi.fn())).toMatchObject({
      refusal: { code: 'pass_required' },
    })
    expect(closed.buys).toHaveLength(4)
  })

  it('is requested again after a lost connection; without a pass the attempt ends', async () => {
    const { backend, buys } = backendWith(refused('pass_required'), receipt)
    const obtainPass = vi.fn<Backend['obtainPass']>().mockRejectedValueOnce(new Lost('connection lost'))
    backend.obtainPass = obtainPass.mockResolvedValueOnce(true)
    expect(await performAttempt(attempt, backend, vi.fn())).toEqual({ kind: 'reserved', receipt })
    expect(buys).toHaveLength(2)

    const late = backendWith(refused('pass_required'))
    late.backend.obtainPass = () => Promise.reject(refused('closed'))
    expect(await performAttempt(attempt, late.backend, vi.fn())).toMatchObject({
      refusal: { code: 'closed' },
    })
  })
})
