// @vitest-environment happy-dom
import { effectScope, type EffectScope } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Lost, Refused } from '../../src/live/ops'
import type { ErrorCode } from '../../src/protocol/types'
import { freshStores } from '../../src/stores/define'
import { Conflict } from '../http'
import { useOperation } from './operation'

let scope: EffectScope
let operation: ReturnType<typeof useOperation>

const refusal = (code: ErrorCode) => ({ code, message: '', retry_ms: 0, orders: [] })
/** Runs an operation. Returns the keys that were sent and whether it succeeded. */
async function run(content: unknown, send: (key: string) => Promise<unknown>) {
  const keys: string[] = []
  const done = operation.run(content, (key) => {
    keys.push(key)
    return send(key)
  })
  await vi.runAllTimersAsync()
  return { keys, done: await done }
}

beforeEach(() => {
  vi.useFakeTimers()
  freshStores()
  scope = effectScope(true)
  operation = scope.run(useOperation) as ReturnType<typeof useOperation>
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

describe('an operation', () => {
  it('is retried with the same key after a lost response', async () => {
    let left = 2
    const { keys, done } = await run('pause', () =>
      left-- > 0 ? Promise.reject(new Lost('x')) : Promise.resolve({}),
    )
    expect(done).toBe(true)
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    expect(keys[0]).toMatch(/^[a-z2-7]{16}$/)
  })

  it('reuses its key for equal content after a lost response, and gets a new key for other content', async () => {
    const noReply = () => Promise.reject(new Lost('x'))
    const first = await run({ units: 5 }, noReply)
    expect(first.done).toBe(false)
    expect(operation.problem.value).not.toBe('')
    const again = await run({ units: 5 }, noReply)
    expect(again.keys[0]).toBe(first.keys[0])
    const other = await run({ units: 6 }, noReply)
    expect(other.keys[0]).not.toBe(first.keys[0])
  })

  it('is not retried after a rejection; the next attempt gets a new key', async () => {
    const refused = () => Promise.reject(new Refused(refusal('wrong_state')))
    const first = await run('pause', refused)
    expect(first.keys).toHaveLength(1)
    const again = await run('pause', refused)
    expect(again.keys[0]).not.toBe(first.keys[0])
  })

  it('reports the current state of an object that has changed', async () => {
    const { done } = await run('pause', () =>
      Promise.reject(new Conflict(refusal('conflict'), { version: 3 })),
    )
    expect(done).toBe(false)
    expect(operation.conflict.value).toEqual({ version: 3 })
  })

  it('does not start while another operation is running', async () => {
    const send = vi.fn(() => Promise.resolve({}))
    const [a, b] = [operation.run('pause', send), operation.run('pause', send)]
    expect([await a, await b]).toEqual([true, false])
    expect(send).toHaveBeenCalledOnce()
  })
})
