// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { exclusive } from './exclusive'

beforeEach(() => {
  vi.useFakeTimers()
  localStorage.clear()
  Object.defineProperty(navigator, 'locks', { configurable: true, value: undefined })
})

afterEach(() => vi.useRealTimers())

/** Work that takes a while, and the number of concurrent runs. */
function work() {
  const seen = { now: 0, max: 0, done: 0 }
  const run = async (): Promise<void> => {
    seen.max = Math.max(seen.max, ++seen.now)
    await new Promise((resolve) => setTimeout(resolve, 500))
    seen.now--
    seen.done++
  }
  return { seen, run }
}

describe('without Web Locks', () => {
  it('tabs take turns', async () => {
    const { seen, run } = work()
    const tabs = [exclusive('x', run), exclusive('x', run), exclusive('x', run)]
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(tabs)
    expect(seen).toEqual({ now: 0, max: 1, done: 3 })
  })

  it('neither a closed tab nor a clock that was set back blocks other tabs for long', async () => {
    const { seen, run } = work()
    localStorage.setItem('stampede.lease.x', JSON.stringify({ by: 'gone', until: Date.now() + 3_000 }))
    localStorage.setItem('stampede.lease.y', JSON.stringify({ by: 'gone', until: Date.now() + 3_600_000 }))
    const tabs = [exclusive('x', run), exclusive('y', run)]
    await vi.advanceTimersByTimeAsync(1_000)
    expect(seen.done).toBe(1)
    await vi.advanceTimersByTimeAsync(4_000)
    await Promise.all(tabs)
    expect(seen.done).toBe(2)
  })

  it('a failed run releases the lock', async () => {
    const { seen, run } = work()
    const failed = expect(exclusive('x', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await vi.advanceTimersByTimeAsync(100)
    await failed
    const next = exclusive('x', run)
    await vi.advanceTimersByTimeAsync(1_000)
    await next
    expect(seen.done).toBe(1)
  })
})

describe('with Web Locks', () => {
  it('a tab runs alone if the browser forbids locks', async () => {
    const request = () => Promise.reject(new DOMException('no storage', 'SecurityError'))
    Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } })
    expect(await exclusive('x', () => Promise.resolve(1))).toBe(1)
  })
})
