import { beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../../src/stores/define'
import { SPAN_MS, useBoard } from './store'

const now = 1_795_360_000_000
const frame = (over: object = {}) => ({
  ev: 'board',
  now,
  buys_s: 10,
  reserved_s: 5,
  confirmed_s: 4,
  rejected_s: { sold_out: 3, busy: 2 },
  latency_ms: { p50: 8, p99: 20 },
  sales: [],
  partitions: [{ p: 0, lag: 2, pending: 1, oldest_ms: 40, dead: 0, deadlines: 7 }],
  nodes: [],
  payments: { open: 0, in_doubt: 1, refunds_stuck: 0 },
  errors_s: 0,
  alarms: [],
  ...over,
})
const point = (at: number) => ({ at, lags: [1, 2], pending: 3 })

beforeEach(() => freshStores())

describe('the live board', () => {
  it('starts with the history and sums the numbers of the nodes', () => {
    const board = useBoard()
    board.start({ now, history: [point(now - 10_000)] })
    board.apply(frame())
    expect(board.history.map(({ waiting }) => waiting)).toEqual([6, 3])
    expect(board.frame).toMatchObject({ rejected_s: 5, waiting: 3, payments: { in_doubt: 1 } })
  })

  it('shows the orders of hidden sales separately; the default is 0', () => {
    const board = useBoard()
    board.apply(frame({ hidden_s: 12.5 }))
    expect(board.frame).toMatchObject({ confirmed_s: 4, hidden_s: 12.5 })
    board.apply(frame({ now: now + 1_000 }))
    expect(board.frame?.hidden_s).toBe(0)
  })

  it('adds a point every five seconds and drops points older than the charts', () => {
    const board = useBoard()
    board.start({ now, history: [point(now - SPAN_MS - 1), point(now - 4_000)] })
    board.apply(frame())
    expect(board.history).toHaveLength(2)
    board.apply(frame({ now: now + 1_000 }))
    expect(board.history.map(({ at }) => at)).toEqual([now - 4_000, now + 1_000])
    board.apply(frame({ now: now + 2_000 }))
    expect(board.history).toHaveLength(2)
    expect(board.frame?.at).toBe(now + 2_000)
  })

  it('keeps the last numbers after an unreadable frame', () => {
    const board = useBoard()
    board.apply(frame())
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    board.apply({ ev: 'board', now: 'soon' })
    board.apply('nonsense')
    expect(warn).toHaveBeenCalledTimes(2)
    expect(board.frame?.at).toBe(now)
    warn.mockRestore()
  })

  it('shows the reason for missing numbers', () => {
    const board = useBoard()
    board.refuse('forbidden')
    expect(board.refused).toBe('forbidden')
    board.start({ now, history: [] })
    expect(board.refused).toBeUndefined()
  })
})
