import { defineAsyncComponent, type AsyncComponentLoader, type Component } from 'vue'

/** The minimum interval between two reloads of the page, in milliseconds. */
const RELOAD_MS = 60_000
const RELOADED = 'stampede.reloaded'

/**
 * A component that is loaded when it is first shown. A failed load is repeated, ever more slowly, because otherwise a
 * click on Pay would have no effect until the page is loaded again.
 */
export function lazy<T extends Component>(loader: AsyncComponentLoader<T>): T {
  return defineAsyncComponent({
    loader,
    onError: (_error, retry, _fail, attempts) => setTimeout(retry, 1_000 * Math.min(attempts, 5)),
  })
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
