import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { solveWork, type Solver } from './work'
import type { WorkMessage, WorkRequest } from './work.worker'

/** Runs the script of the worker until it returns the solution. The test replaces the page. */
async function runWorker(request: WorkRequest): Promise<string> {
  let onmessage: ((event: { data: WorkRequest }) => void) | undefined
  const answer = new Promise<string>((resolve) => {
    const postMessage = (message: WorkMessage): void => {
      if ('answer' in message) resolve(message.answer)
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
  onmessage?.({ data: request })
  return answer
}

afterEach(() => vi.unstubAllGlobals())

describe('the worker', () => {
  it.each(['sale.7.user.9', '订单', 'v1.'.repeat(100)])('finds the first number for %s', async (text) => {
    const answer = await runWorker({ text, bits: 10 })
    const bits = (nonce: number): number =>
      createHash('sha256')
        .update(`${text}:${String(nonce)}`)
        .digest()
        .readUInt32BE()
    expect(answer).toMatch(/^\d+$/)
    expect(bits(Number(answer)) >>> 22).toBe(0)
    for (let nonce = 0; nonce < Number(answer); nonce++) expect(bits(nonce) >>> 22).not.toBe(0)
  })
})

describe('a proof of work', () => {
  let solver: Solver & { terminate: ReturnType<typeof vi.fn>; postMessage: ReturnType<typeof vi.fn> }
  const sendFromWorker = (data: WorkMessage): void =>
    solver.onmessage?.call(solver as never, { data } as MessageEvent)

  beforeEach(() => {
    solver = { onmessage: null, onerror: null, postMessage: vi.fn(), terminate: vi.fn() } as typeof solver
  })

  it('reports the probability that the solution is found by now, and terminates the worker after the solution', async () => {
    const reported: number[] = []
    const request = { text: 'x', bits: 4 }
    const answer = solveWork(
      request,
      new AbortController().signal,
      (share) => reported.push(share),
      () => solver,
    )
    expect(solver.postMessage).toHaveBeenCalledWith(request)
    sendFromWorker({ tries: 0 })
    sendFromWorker({ tries: 16 })
    sendFromWorker({ tries: 64 })
    expect(reported.map((share) => share.toFixed(2))).toEqual(['0.00', '0.63', '0.98'])
    sendFromWorker({ answer: '77' })
    expect(await answer).toBe('77')
    expect(solver.terminate).toHaveBeenCalledOnce()
  })

  it('rejects immediately when it is aborted, even before the start', async () => {
    const control = new AbortController()
    const answer = solveWork(
      { text: 'x', bits: 30 },
      control.signal,
      () => undefined,
      () => solver,
    )
    control.abort()
    await expect(answer).rejects.toThrow('aborted')
    expect(solver.terminate).toHaveBeenCalledOnce()
    const again = solveWork(
      { text: 'x', bits: 30 },
      control.signal,
      () => undefined,
      () => solver,
    )
    await expect(again).rejects.toThrow('aborted')
  })
})
