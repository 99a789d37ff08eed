// @vitest-environment happy-dom
import { effectScope, ref } from 'vue'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { FRESH_MS, useCalm } from './useCalm'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('is calm until the new content is drawn and for a moment afterwards', () => {
  const frames: FrameRequestCallback[] = []
  vi.stubGlobal('requestAnimationFrame', (run: FrameRequestCallback) => frames.push(run))
  const frame = () => frames.shift()?.(0)
  const scope = effectScope()
  const outcome = ref('a')
  const calm = scope.run(() => useCalm(() => outcome.value, FRESH_MS))

  expect(calm?.value).toBe(false)
  outcome.value = 'b'
  expect(calm?.value).toBe(true)
  frame()
  vi.advanceTimersByTime(10 * FRESH_MS) // a slow phone needs this long to draw the cards of another slot
  expect(calm?.value).toBe(true)
  frame()
  vi.advanceTimersByTime(FRESH_MS - 1)
  expect(calm?.value).toBe(true)
  vi.advanceTimersByTime(1)
  expect(calm?.value).toBe(false)
  scope.stop()
})
