import type { WorkNews, WorkOrder } from './work.worker'

/** The part of Worker that is used; tests replace it. */
export type Solver = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>

function openSolver(): Solver {
  return new Worker(new URL('./work.worker.ts', import.meta.url), { type: 'module' })
}

/**
 * Finds a number whose SHA-256 together with the text has at least `bits` leading zero bits, in a worker. `heard`
 * receives the probability of success so far, from 0 to 1, because real progress cannot be measured. Rejects when
 * `signal` aborts.
 */
export function solveWork(
  order: WorkOrder,
  signal: AbortSignal,
  heard: (share: number) => void,
  open: () => Solver = openSolver,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const solver = open()
    const giveUp = (): void => end(() => reject(new DOMException('given up', 'AbortError')))
    function end(how: () => void): void {
      signal.removeEventListener('abort', giveUp)
      solver.terminate()
      how()
    }
    signal.addEventListener('abort', giveUp)
    if (signal.aborted) return giveUp()
    solver.onmessage = ({ data }: MessageEvent<WorkNews>) => {
      if ('answer' in data) end(() => resolve(data.answer))
      else heard(1 - Math.exp(-data.tries / 2 ** order.bits))
    }
    solver.onerror = (event) => end(() => reject(new Error(`the worker failed: ${event.message}`)))
    solver.postMessage(order)
  })
}
