import { keep, recall } from './storage'

/** A lease is void after this, because its tab was closed or stands still. */
const LEASE_MS = 3_000
/** Two tabs that wrote within this see the same winner afterwards. */
const SETTLE_MS = 50
const LOOK_MS = 100

/** The browser's own locks; a page that did not come over HTTPS or from this machine has none. */
export function webLocks(): LockManager | undefined {
  return (navigator as { locks?: LockManager }).locks
}

/**
 * Runs what only one tab of this browser may do at a time. Whoever waited must look again at what is stored, because
 * the tab before may have done the work. Without Web Locks a lease in the store serves, which two tabs may hold at
 * once when one of them stood still: what runs must end well then, too.
 */
export async function exclusive<T>(name: string, run: () => Promise<T>): Promise<T> {
  const locks = webLocks()
  if (!locks) return leased(`lease.${name}`, run)
  let begun = false
  try {
    return await locks.request(`stampede.${name}`, () => {
      begun = true
      return run()
    })
  } catch (error) {
    // A browser that forbids storage forbids locks as well; then this tab stands alone.
    if (begun) throw error
    return run()
  }
}

interface Lease {
  by: string
  until: number
}

function parseLease(value: unknown): Lease {
  const { by, until } = value as Record<string, unknown>
  if (typeof by !== 'string' || typeof until !== 'number') throw new Error('no lease')
  return { by, until }
}

async function leased<T>(name: string, run: () => Promise<T>): Promise<T> {
  const by = String(Math.random())
  const hold = (): boolean => keep(name, { by, until: Date.now() + LEASE_MS })
  for (;;) {
    const left = (recall(name, parseLease)?.until ?? 0) - Date.now()
    // One that ends later than any can was written before the clock was set back.
    if (left > 0 && left <= LEASE_MS) {
      await pause(LOOK_MS)
      continue
    }
    hold()
    await pause(SETTLE_MS)
    const winner = recall(name, parseLease)?.by
    // Where nothing can be stored, no tab knows of another.
    if (winner === by || winner === undefined) break
  }
  const renewal = setInterval(hold, LEASE_MS / 3)
  try {
    return await run()
  } finally {
    clearInterval(renewal)
    keep(name, undefined)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
