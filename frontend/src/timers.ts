import { getCurrentScope, onScopeDispose } from 'vue'

// Timers, frames and listeners that end with the scope in which they were created.

/** The maximum delay of a browser timer, in milliseconds; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** One timer. A second start replaces the first; after the end of the scope, start has no effect. */
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
    const fire = (): void => {
      timer = undefined
      run()
    }
    timer = setTimeout(fire, Math.min(ms, MAX_DELAY_MS))
  }

  onScopeDispose(stop)
  return { start, stop, isRunning: () => timer !== undefined }
}

/**
 * Runs a function after all current changes were drawn: in the frame after the next. A new call replaces the previous
 * one.
 */
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

/**
 * Runs a function in the next frame, or at once if the page is hidden or becomes hidden, because it has no frames then.
 * A new call replaces the previous one.
 */
export function useNextFrame(): (run: () => void) => void {
  let frame = 0
  let waiting: (() => void) | undefined

  function fire(): void {
    const run = waiting
    stop()
    run?.()
  }

  function stop(): void {
    cancelAnimationFrame(frame)
    waiting = undefined
  }

  useListener(document, 'visibilitychange', () => {
    if (document.hidden) fire()
  })
  onScopeDispose(stop)
  return (run) => {
    stop()
    waiting = run
    if (document.hidden) fire()
    else frame = requestAnimationFrame(fire)
  }
}

/**
 * Returns a function that pauses; any number of pauses can run. After the end of the scope no pause resolves, so
 * waiting code stops.
 */
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

export function useListener(target: EventTarget, type: string, listener: (event: Event) => void): void {
  target.addEventListener(type, listener, { passive: true })
  onScopeDispose(() => target.removeEventListener(type, listener))
}
