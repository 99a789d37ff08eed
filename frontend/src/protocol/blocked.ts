import { Refused } from '../live/ops'

/** The messages of `forbidden` for blocked clients (app/shop/errors.go), and the blocked thing. */
const BLOCKED: ReadonlyMap<string, 'account' | 'address'> = new Map([
  ['this account is blocked', 'account'],
  ['this address is blocked by the shop', 'address'],
])

/** Reports whether the shop blocks the account or the address; undefined: the error has another reason. */
export function blockedBy(error: unknown): 'account' | 'address' | undefined {
  if (!(error instanceof Refused) || error.refusal.code !== 'forbidden') return undefined
  return BLOCKED.get(error.refusal.message)
}
