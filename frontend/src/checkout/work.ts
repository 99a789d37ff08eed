import type { WorkMessage, WorkRequest } from './work.worker'

/** The part of Worker that is used; tests replace it. */
export type Solver = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>

function openSolver(): Solver {
  return new Worker(new URL('./work.worker.ts', import.meta.url), { type: 'module' })
}

/**
 * Finds a number whose SHA-256 together with the text has at least `bits` leading zero bits, in a worker. `onProgress`
 * receives the probability of success so far, from 0 to 1, because real progress cannot be measured. Rejects when
 * `signal` aborts.
 */
export function solveWork(
  request: WorkRequest,
  signal: AbortSignal,
  onProgress: (share: number) => void,
  open: () => Solver = openSolver,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const solver = open()
    const abort = (): void => end(() => reject(new DOMException('aborted', 'AbortError')))
    function end(settle: () => void): void {
      signal.removeEventListener('abort', abort)
      solver.terminate()
      settle()
    }
    signal.addEventListener('abort', abort)
    if (signal.aborted) return abort()
    solver.onmessage = ({ data }: MessageEvent<WorkMessage>) => {
      if ('answer' in data) end(() => resolve(data.answer))
      else onProgress(1 - Math.exp(-data.tries / 2 ** request.bits))
    }
    solver.onerror = (event) => end(() => reject(new Error(`the worker failed: ${event.message}`)))
    solver.postMessage(request)
  })
}
