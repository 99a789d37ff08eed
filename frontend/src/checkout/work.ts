import type { WorkNews, WorkOrder } from './work.worker'

/** The part of Worker that is used, so that tests can put another one in its place. */
export type Solver = Pick<Worker, 'postMessage' | 'terminate' | 'onmessage' | 'onerror'>

function openSolver(): Solver {
  return new Worker(new URL('./work.worker.ts', import.meta.url), { type: 'module' })
}

/**
 * Finds the number whose SHA-256 with the text begins with so many zero bits, in a worker beside the page. `heard` takes
 * how likely it was to be found by now, from 0 to 1: nobody can say how far it really is. Rejects when `signal` aborts.
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
