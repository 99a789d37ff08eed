import { Refused } from '../live/ops'

/** The messages of `forbidden` for blocked clients (app/shop/errors.go), and what is blocked. */
const BLOCKED: ReadonlyMap<string, 'account' | 'address'> = new Map([
  ['this account is blocked', 'account'],
  ['this address is blocked by the shop', 'address'],
])

/** Returns what the shop has blocked; undefined: the error has another reason. */
export function blockedBy(error: unknown): 'account' | 'address' | undefined {
  if (!(error instanceof Refused) || error.refusal.code !== 'forbidden') return undefined
  return BLOCKED.get(error.refusal.message)
}
