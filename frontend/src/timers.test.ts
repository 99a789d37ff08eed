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
  it('fires once, at the last set time', async () => {
    const callback = vi.fn()
    const timer = scope.run(useTimer)
    timer?.start(100, callback)
    timer?.start(300, callback)
    await vi.advanceTimersByTimeAsync(200)
    expect([callback.mock.calls.length, timer?.isRunning()]).toEqual([0, true])
    await vi.advanceTimersByTimeAsync(1_000)
    expect([callback.mock.calls.length, timer?.isRunning()]).toEqual([1, false])
  })

  it("does not fire at once for a delay above the browser's maximum", async () => {
    const callback = vi.fn()
    scope.run(useTimer)?.start(Infinity, callback)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(callback).not.toHaveBeenCalled()
  })

  it('does not fire after the end of its scope', async () => {
    const timer = scope.run(useTimer)
    timer?.start(100, vi.fn())
    scope.stop()
    expect(vi.getTimerCount()).toBe(0)
    timer?.start(100, vi.fn())
    expect(vi.getTimerCount()).toBe(0)
  })
})

it('pauses never resolve after the end of their scope', async () => {
  const pause = scope.run(usePause)
  const resolved = vi.fn()
  void pause?.(100).then(resolved)
  await vi.advanceTimersByTimeAsync(100)
  expect(resolved).toHaveBeenCalledOnce()
  void pause?.(100).then(resolved)
  scope.stop()
  void pause?.(100).then(resolved)
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(resolved).toHaveBeenCalledOnce()
})
