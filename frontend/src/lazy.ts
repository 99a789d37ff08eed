import { defineAsyncComponent, type AsyncComponentLoader, type Component } from 'vue'

/** The minimum interval between two reloads of the page, in milliseconds. */
const RELOAD_MS = 60_000
const RELOADED = 'stampede.reloaded'

/** Repeats a failed load, ever more slowly. */
export async function repeated<T>(load: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1_000 * Math.min(attempts, 5)))
    }
  }
}

/**
 * A component that is loaded when it is first shown. A failed load is repeated, because otherwise a click on Pay would
 * have no effect until the page is loaded again.
 */
export function lazy<T extends Component>(loader: AsyncComponentLoader<T>): T {
  return defineAsyncComponent(() => repeated(loader))
}

/**
 * Loads the page again if a part cannot be loaded although the network works: after a deployment the server has only
 * the parts of the new build. Orders and buy attempts survive this.
 */
export function reloadAfterDeployment(): void {
  window.addEventListener('vite:preloadError', () => {
    const last = Number(sessionStorage.getItem(RELOADED))
    if (!navigator.onLine || Date.now() - last < RELOAD_MS) return
    sessionStorage.setItem(RELOADED, String(Date.now()))
    window.location.reload()
  })
}
