import { Lost, Refused } from '../live/ops'
import type { Address, BuyFields, Order, Receipt, Refusal } from '../protocol/types'

/**
 * One buy attempt. Its content never changes, because the key belongs to this quantity and address. The attempt is
 * stored until its outcome is known.
 */
export interface Attempt {
  readonly key: string
  /** The user of the attempt. The attempt is never repeated as another user. */
  readonly user: string
  readonly sale: string
  readonly qty: number
  readonly address?: Address
  readonly pressedAt: number
  /** The product name, for messages while the sale is not displayed. */
  readonly product: string
}

export type Outcome =
  | { kind: 'reserved'; receipt: Receipt }
  /** An order event with this key arrived before the reply. */
  | { kind: 'settled'; order: Order }
  | { kind: 'refused'; refusal: Refusal }
  /** The shopper dismissed the challenge. */
  | { kind: 'given_up' }
  /** Another user is signed in now; the attempt must not be repeated as the new user. */
  | { kind: 'other_user' }

/** The server functions that a buy attempt needs. */
export interface Backend {
  buy(fields: BuyFields): Promise<Receipt>
  /** The id of the current user. */
  user(): string | undefined
  /** Resolves as soon as the page is connected with a user. */
  untilLive(): Promise<void>
  /** The order that an event reported for this key. */
  orderOf(key: string): Order | undefined
  pause(ms: number): Promise<void>
  /** The available pass for a sale. */
  passFor(sale: string): string | undefined
  /** Gets a pass by solving the challenges of the shop; false if the shopper gave up. Rejects as ops do. */
  obtainPass(sale: string): Promise<boolean>
}

const PAUSE_MS = 500
const MAX_PAUSE_MS = 5_000
/** An attempt at most this long before the opening, in milliseconds, waits for the opening instead of failing. */
const EDGE_MS = 2_000
/**
 * Maximum number of passes for one attempt. If the server rejects all of them, it will probably reject the next one.
 */
const MAX_PASSES = 3

/**
 * A key of 16 random characters, 80 bits. It must be unique among this buyer's attempts in one sale, and Redis stores
 * it twice with each order. randomUUID needs a secure context, which plain HTTP on a LAN lacks.
 */
export function newKey(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => alphabet[n % 32]).join('')
}

/** Reports whether the outcome is still undecided, so that the request must be repeated with the same key. */
function undecided(refusal: Refusal): boolean {
  switch (refusal.code) {
    case 'busy':
    case 'internal':
    case 'rate_limited':
    case 'unauthorized':
      return true
    case 'not_open':
      return refusal.retry_ms > 0 && refusal.retry_ms <= EDGE_MS
    default:
      return false
  }
}

function wantsPass({ code }: Refusal): boolean {
  return code === 'pass_required' || code === 'captcha_required'
}

/**
 * Repeats a buy attempt until its outcome is known. After `busy`, a lost connection, an unreadable reply or a timeout,
 * it sends the same key again, without a limit. The server returns the same order for the key and requires no pass if
 * it has seen the key. `repeating` is called before each repeat.
 */
export async function performAttempt(
  attempt: Attempt,
  backend: Backend,
  repeating: () => void,
): Promise<Outcome> {
  const { key, sale, qty, address } = attempt
  const fields = { sale, qty, key, ...(address ? { address } : {}) }
  let passes = 0
  let passRequired = false
  for (let repeats = 0; ;) {
    await backend.untilLive()
    if (backend.user() !== attempt.user) return { kind: 'other_user' }
    const order = backend.orderOf(key)
    if (order) return { kind: 'settled', order }
    let retryMs = 0
    try {
      if (passRequired && !(await backend.obtainPass(sale))) return { kind: 'given_up' }
      passRequired = false
      const pass = backend.passFor(sale)
      return { kind: 'reserved', receipt: await backend.buy({ ...fields, ...(pass ? { pass } : {}) }) }
    } catch (error) {
      if (error instanceof Refused) {
        if (wantsPass(error.refusal) && passes++ < MAX_PASSES) {
          passRequired = true
          continue
        }
        if (!undecided(error.refusal)) return { kind: 'refused', refusal: error.refusal }
        retryMs = error.refusal.retry_ms
      } else if (!(error instanceof Lost)) {
        console.error('a buy request failed:', error)
      }
    }
    repeating()
    await backend.pause(retryMs || Math.min(MAX_PAUSE_MS, PAUSE_MS * 1.5 ** repeats++))
  }
}
