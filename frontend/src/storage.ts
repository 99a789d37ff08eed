import { useListener } from './timers'

/** Small values that outlive the page. A browser that forbids storage only forgets sooner. */

const OURS = 'stampede.'

export function recall<T>(name: string, read: (value: unknown) => T): T | undefined {
  try {
    const stored = localStorage.getItem(OURS + name)
    return stored === null ? undefined : read(JSON.parse(stored))
  } catch {
    return undefined
  }
}

/** All values whose names begin so; one that cannot be read is left out. */
export function recallAll<T>(beginning: string, read: (value: unknown) => T): T[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(OURS + beginning))
      .flatMap((key) => recall(key.slice(OURS.length), read) ?? [])
  } catch {
    return []
  }
}

/** Keeps a value, or forgets it when it is undefined; false when the store takes nothing. */
export function keep(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(OURS + name)
    else localStorage.setItem(OURS + name, JSON.stringify(value))
    return true
  } catch {
    // Private mode or a full store: the value simply does not survive the page.
    return false
  }
}

/** Calls back when another tab has changed a value whose name begins so, as long as the scope of the caller lives. */
export function onKept(beginning: string, changed: () => void): void {
  useListener(window, 'storage', (event) => {
    const { key } = event as StorageEvent
    // A store that was emptied has no key to tell.
    if (key === null || key.startsWith(OURS + beginning)) changed()
  })
}
