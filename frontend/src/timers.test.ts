import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'
import { usePause, useTimer } from './timers'

let scope: EffectScope

beforeEach(() => {
  vi.useFakeTimers()
  scope = effectScope()
})
afterEach(() => void vi.useRealTimers())

describe('a timer', () => {
  it('rings once, at the time that was set last', async () => {
    const ring = vi.fn()
    const timer = scope.run(useTimer)
    timer?.start(100, ring)
    timer?.start(300, ring)
    await vi.advanceTimersByTimeAsync(200)
    expect([ring.mock.calls.length, timer?.isRunning()]).toEqual([0, true])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([ring.mock.calls.length, timer?.isRunning()]).toEqual([1, false])
  })

  it('does not ring at once for a time that is too long for the browser', async () => {
    const ring = vi.fn()
    scope.run(useTimer)?.start(Infinity, ring)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(ring).not.toHaveBeenCalled()
  })

  it('is dead when its scope has ended', async () => {
    const timer = scope.run(useTimer)
    timer?.start(100, vi.fn())
    scope.stop()
    expect(vi.getTimerCount()).toBe(0)
    timer?.start(100, vi.fn())
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('pauses do not end any more when their scope has', async () => {
  const pause = scope.run(usePause)
  const went = vi.fn()
  void pause?.(100).then(went)
  await vi.advanceTimersByTimeAsync(100)
  expect(went).toHaveBeenCalledOnce()
  void pause?.(100).then(went)
  scope.stop()
  void pause?.(100).then(went)
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(went).toHaveBeenCalledOnce()
})
