// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startHeartbeat } from './heartbeat'
import { Lost, Refused, Unreadable } from './ops'
import type { LiveSocket } from './socket'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function beating(answer: () => Promise<{ t0: number; now: number }>) {
  const request = vi.fn(answer)
  const reconnect = vi.fn()
  const line = { request, reconnect, quietMs: 0 }
  const stop = startHeartbeat(line as unknown as LiveSocket, vi.fn())
  return { request, reconnect, stop, line }
}

describe('the heartbeat', () => {
  it('sends several requests at first and then regular ones, until it is stopped', async () => {
    const { request, stop } = beating(() => Promise.resolve({ t0: 0, now: 5 }))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(request).toHaveBeenCalledTimes(5)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(request).toHaveBeenCalledTimes(7)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(request).toHaveBeenCalledTimes(7)
  })

  it('sends a request soon after a silence, unless the page is hidden', async () => {
    const { request, line, stop } = beating(() => Promise.resolve({ t0: 0, now: 5 }))
    await vi.advanceTimersByTimeAsync(3_000)
    line.quietMs = 1_500
    await vi.advanceTimersByTimeAsync(3_600)
    expect(request.mock.calls.length).toBeGreaterThanOrEqual(7)
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
    const calls = request.mock.calls.length
    await vi.advanceTimersByTimeAsync(10_000)
    expect(request).toHaveBeenCalledTimes(calls)
    hidden.mockRestore()
    stop()
  })

  it('accepts an unreadable reply as a sign of life', async () => {
    const { reconnect } = beating(() => Promise.reject(new Unreadable('torn')))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reconnect).not.toHaveBeenCalled()
  })

  it('replaces a silent dead connection', async () => {
    const { reconnect } = beating(() => Promise.reject(new Lost('silence')))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reconnect).toHaveBeenCalledOnce()
  })

  it('keeps a connection that rejects requests', async () => {
    const refusal = { code: 'rate_limited', message: '', retry_ms: 0, orders: [] } as const
    const { reconnect, request } = beating(() => Promise.reject(new Refused({ ...refusal, orders: [] })))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reconnect).not.toHaveBeenCalled()
    expect(request.mock.calls.length).toBeGreaterThan(4)
  })
})
