/** Small values that outlive the page. A browser that forbids storage only forgets sooner. */

export function recall<T>(name: string, read: (value: unknown) => T): T | undefined {
  try {
    const stored = localStorage.getItem(`stampede.${name}`)
    return stored === null ? undefined : read(JSON.parse(stored))
  } catch {
    return undefined
  }
}

export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(`stampede.${name}`)
    else localStorage.setItem(`stampede.${name}`, JSON.stringify(value))
  } catch {
    // Private mode or a full store: the value simply does not survive the page.
  }
}
