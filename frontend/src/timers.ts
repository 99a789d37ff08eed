import { getCurrentScope, onScopeDispose } from 'vue'

// What a component or the shop begins ends with it: each of these belongs to the scope in which it was made.

/** The longest time that a timer of a browser can hold; with a longer one it would ring at once. */
const LONGEST_MS = 2 ** 31 - 1

/** One timer: to start it again puts it off, and what would start it after its scope has ended finds it dead. */
export function useTimer() {
  const scope = getCurrentScope()
  let timer: ReturnType<typeof setTimeout> | undefined

  function stop(): void {
    clearTimeout(timer)
    timer = undefined
  }

  function start(ms: number, run: () => unknown): void {
    stop()
    if (scope?.active === false) return
    const ring = (): void => {
      timer = undefined
      run()
    }
    timer = setTimeout(ring, Math.min(ms, LONGEST_MS))
  }

  onScopeDispose(stop)
  return { start, stop, isRunning: () => timer !== undefined }
}

/** Runs something once everything that has changed by now was drawn: in the frame after the next. The last call counts. */
export function useDrawn(): (run: () => void) => void {
  const scope = getCurrentScope()
  let frame = 0
  onScopeDispose(() => cancelAnimationFrame(frame))
  return (run) => {
    cancelAnimationFrame(frame)
    if (scope?.active === false) return
    frame = requestAnimationFrame(() => (frame = requestAnimationFrame(run)))
  }
}

/** Pauses, as many at a time as there are. None of them ends any more once the scope has: who waits goes no further. */
export function usePause(): (ms: number) => Promise<void> {
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const scope = getCurrentScope()
  onScopeDispose(() => timers.forEach(clearTimeout))
  return (ms) =>
    new Promise((resolve) => {
      if (scope?.active === false) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        resolve()
      }, ms)
      timers.add(timer)
    })
}

export function useInterval(ms: number, run: () => void): void {
  const timer = setInterval(run, ms)
  onScopeDispose(() => clearInterval(timer))
}

export function useListener(target: EventTarget, type: string, heard: (event: Event) => void): void {
  target.addEventListener(type, heard, { passive: true })
  onScopeDispose(() => target.removeEventListener(type, heard))
}
