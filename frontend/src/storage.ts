import { useListener } from './timers'

/** Small values in the browser's storage. If the browser forbids storage, values only live as long as the page. */

const PREFIX = 'stampede.'

export function readStored<T>(name: string, read: (value: unknown) => T): T | undefined {
  try {
    const stored = localStorage.getItem(PREFIX + name)
    return stored === null ? undefined : read(JSON.parse(stored))
  } catch {
    return undefined
  }
}

/** All values whose names have the prefix; unreadable ones are skipped. */
export function readAllStored<T>(prefix: string, read: (value: unknown) => T): T[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX + prefix))
      .flatMap((key) => readStored(key.slice(PREFIX.length), read) ?? [])
  } catch {
    return []
  }
}

/** Stores a value, or deletes it if it is undefined; false if the store rejects it. */
export function writeStored(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, JSON.stringify(value))
    return true
  } catch {
    // Private mode or a full store: the value does not survive the page.
    return false
  }
}

/** Calls back when another tab changes a value whose name has the prefix, until the caller's scope ends. */
export function onStoreChange(prefix: string, changed: () => void): void {
  useListener(window, 'storage', (event) => {
    const { key } = event as StorageEvent
    // Clearing the store reports no key.
    if (key === null || key.startsWith(PREFIX + prefix)) changed()
  })
}
