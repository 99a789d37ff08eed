// @vitest-environment happy-dom
import { effectScope, ref } from 'vue'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { APPEAR_GUARD_MS, useClickGuard } from './useClickGuard'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('ignores clicks until the new content is drawn and for a moment afterwards', () => {
  const frames: FrameRequestCallback[] = []
  vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => frames.push(run))
  const frame = () => frames.shift()?.(0)
  const scope = effectScope()
  const outcome = ref('a')
  const guarded = scope.run(() => useClickGuard(() => outcome.value, APPEAR_GUARD_MS))

  expect(guarded?.value).toBe(false)
  outcome.value = 'b'
  expect(guarded?.value).toBe(true)
  frame()
  vi.advanceTimersByTime(10 * APPEAR_GUARD_MS) // a slow phone needs this long to draw the cards of another slot
  expect(guarded?.value).toBe(true)
  frame()
  vi.advanceTimersByTime(APPEAR_GUARD_MS - 1)
  expect(guarded?.value).toBe(true)
  vi.advanceTimersByTime(1)
  expect(guarded?.value).toBe(false)
  scope.stop()
})
