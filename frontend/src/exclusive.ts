import { writeStored, readStored } from './storage'

/** A lease expires after this time, in milliseconds, if its tab was closed or frozen. */
const LEASE_MS = 3_000
/** After this time, in milliseconds, two tabs that wrote the lease at the same moment read the same lease. */
const SETTLE_MS = 50
const POLL_MS = 100

/** The browser's Web Locks; undefined on pages without HTTPS that are not from localhost. */
export function webLocks(): LockManager | undefined {
  return (navigator as { locks?: LockManager }).locks
}

/**
 * Runs `run` in one tab of this browser at a time. A caller that waited must read the storage again, because another
 * tab may have done the work. Without Web Locks it uses a lease in the storage. If a tab was frozen, two tabs can hold
 * the lease at once, so `run` must tolerate two concurrent runs.
 */
export async function exclusive<T>(name: string, run: () => Promise<T>): Promise<T> {
  const locks = webLocks()
  if (!locks) return withLease(`lease.${name}`, run)
  let started = false
  try {
    return await locks.request(`stampede.${name}`, () => {
      started = true
      return run()
    })
  } catch (error) {
    // A browser that forbids storage also forbids locks. Then this tab runs alone.
    if (started) throw error
    return run()
  }
}

interface Lease {
  by: string
  until: number
}

function parseLease(value: unknown): Lease {
  const { by, until } = value as Record<string, unknown>
  if (typeof by !== 'string' || typeof until !== 'number') throw new Error('not a lease')
  return { by, until }
}

async function withLease<T>(name: string, run: () => Promise<T>): Promise<T> {
  const by = String(Math.random())
  const writeLease = (): boolean => writeStored(name, { by, until: Date.now() + LEASE_MS })
  for (;;) {
    const left = (readStored(name, parseLease)?.until ?? 0) - Date.now()
    // A lease that ends later than LEASE_MS from now was written before the clock was set back.
    if (left > 0 && left <= LEASE_MS) {
      await pause(POLL_MS)
      continue
    }
    writeLease()
    await pause(SETTLE_MS)
    const winner = readStored(name, parseLease)?.by
    // If storage does not work, tabs cannot coordinate.
    if (winner === by || winner === undefined) break
  }
  const renewal = setInterval(writeLease, LEASE_MS / 3)
  try {
    return await run()
  } finally {
    clearInterval(renewal)
    writeStored(name, undefined)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
