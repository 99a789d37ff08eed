import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ServerClock } from './clock'
import { startHeartbeat } from './heartbeat'
import { Lost, Refused } from './requests'
import type { LiveSocket } from './socket'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function beating(answer: () => Promise<{ t0: number; now: number }>) {
  const request = vi.fn(answer)
  const reconnect = vi.fn()
  const stop = startHeartbeat({ request, reconnect } as unknown as LiveSocket, new ServerClock(() => 0))
  return { request, reconnect, stop }
}

describe('the heartbeat', () => {
  it('asks several times at once and then steadily, until it is stopped', async () => {
    const { request, stop } = beating(() => Promise.resolve({ t0: 0, now: 5 }))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(request).toHaveBeenCalledTimes(5)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(request).toHaveBeenCalledTimes(7)
    stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(request).toHaveBeenCalledTimes(7)
  })

  it('leaves a connection that has died in silence', async () => {
    const { reconnect } = beating(() => Promise.reject(new Lost('silence')))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reconnect).toHaveBeenCalledOnce()
  })

  it('stays on a connection that only refuses', async () => {
    const refusal = { code: 'rate_limited', message: '', retry_ms: 0, orders: [] } as const
    const { reconnect, request } = beating(() => Promise.reject(new Refused({ ...refusal, orders: [] })))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reconnect).not.toHaveBeenCalled()
    expect(request.mock.calls.length).toBeGreaterThan(4)
  })
})
