import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import { useThrottled } from './useThrottled'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('updates every few seconds, immediately when the edge changes, and stops with its scope', async () => {
  const stock = ref(100)
  const scope = effectScope()
  const label = scope.run(() =>
    useThrottled(
      () => `${String(stock.value)} left`,
      () => stock.value === 0,
    ),
  )
  await vi.advanceTimersByTimeAsync(5_000)
  const seen = new Set<string | undefined>()
  for (let tick = 0; tick < 100; tick++) {
    stock.value--
    await nextTick()
    await vi.advanceTimersByTimeAsync(100)
    seen.add(label?.value)
  }
  expect(seen.size).toBeLessThanOrEqual(4)
  stock.value = 50
  await vi.advanceTimersByTimeAsync(5_000)
  expect(label?.value).toBe('50 left')
  stock.value = 0
  await nextTick()
  expect(label?.value).toBe('0 left')
  scope.stop()
  stock.value = 7
  await vi.advanceTimersByTimeAsync(10_000)
  expect(label?.value).toBe('0 left')
})
