import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { solveWork, type Solver } from './work'
import type { WorkMessage, WorkOrder } from './work.worker'

/** Runs the worker's script, with this test instead of the page, until it returns the solution. */
async function runWorker(order: WorkOrder): Promise<string> {
  let onmessage: ((event: { data: WorkOrder }) => void) | undefined
  const answer = new Promise<string>((resolve) => {
    const postMessage = (news: WorkMessage): void => {
      if ('answer' in news) resolve(news.answer)
    }
    const scope = {
      postMessage,
      set onmessage(run: typeof onmessage) {
        onmessage = run
      },
    }
    vi.stubGlobal('self', scope)
  })
  vi.resetModules()
  await import('./work.worker')
  onmessage?.({ data: order })
  return answer
}

afterEach(() => vi.unstubAllGlobals())

describe('the worker', () => {
  it('finds the first number with enough zero bits', async () => {
    const answer = await runWorker({ text: 'sale.7.user.9', bits: 10 })
    const bits = (nonce: number): number =>
      createHash('sha256')
        .update(`sale.7.user.9:${String(nonce)}`)
        .digest()
        .readUInt32BE()
    expect(answer).toMatch(/^\d+$/)
    expect(bits(Number(answer)) >>> 22).toBe(0)
    for (let nonce = 0; nonce < Number(answer); nonce++) expect(bits(nonce) >>> 22).not.toBe(0)
  })
})

describe('a proof of work', () => {
  let solver: Solver & { terminate: ReturnType<typeof vi.fn>; postMessage: ReturnType<typeof vi.fn> }
  const announce = (data: WorkMessage): void =>
    solver.onmessage?.call(solver as never, { data } as MessageEvent)

  beforeEach(() => {
    solver = { onmessage: null, onerror: null, postMessage: vi.fn(), terminate: vi.fn() } as typeof solver
  })

  it('reports its probability and terminates the worker after the solution', async () => {
    const onProgress: number[] = []
    const order = { text: 'x', bits: 4 }
    const answer = solveWork(
      order,
      new AbortController().signal,
      (share) => onProgress.push(share),
      () => solver,
    )
    expect(solver.postMessage).toHaveBeenCalledWith(order)
    announce({ tries: 0 })
    announce({ tries: 16 })
    announce({ tries: 64 })
    expect(onProgress.map((share) => share.toFixed(2))).toEqual(['0.00', '0.63', '0.98'])
    announce({ answer: '77' })
    expect(await answer).toBe('77')
    expect(solver.terminate).toHaveBeenCalledOnce()
  })

  it('ends at once when it is aborted, also before its start', async () => {
    const control = new AbortController()
    const answer = solveWork(
      { text: 'x', bits: 30 },
      control.signal,
      () => undefined,
      () => solver,
    )
    control.abort()
    await expect(answer).rejects.toThrow('given up')
    expect(solver.terminate).toHaveBeenCalledOnce()
    const again = solveWork(
      { text: 'x', bits: 30 },
      control.signal,
      () => undefined,
      () => solver,
    )
    await expect(again).rejects.toThrow('given up')
  })
})
