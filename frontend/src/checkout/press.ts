import { Lost, Refused } from '../live/ops'
import type { Address, BuyFields, Order, Receipt, Refusal } from '../protocol/types'

/**
 * One press of Buy. Its content never changes: the key belongs to exactly this quantity and address, and is
 * kept until the outcome is known.
 */
export interface Press {
  readonly key: string
  /** Who pressed; another user's press is never repeated. */
  readonly user: string
  readonly sale: string
  readonly qty: number
  readonly address?: Address
  readonly pressedAt: number
  /** What was to be bought, for telling the outcome when the sale is out of sight. */
  readonly product: string
}

export type Outcome =
  | { kind: 'reserved'; receipt: Receipt }
  /** An order event with this key told the outcome before the reply did. */
  | { kind: 'settled'; order: Order }
  | { kind: 'refused'; refusal: Refusal }
  /** The shopper did not want to do what the shop asks for. */
  | { kind: 'givenup' }
  /** Somebody else is signed in now, for whom it must not be repeated. */
  | { kind: 'foreign' }

/** The server, as far as a press needs it. */
export interface Backend {
  buy(fields: BuyFields): Promise<Receipt>
  /** Who is signed in. */
  user(): string | undefined
  /** Resolves as soon as there is a connection with a user. */
  untilLive(): Promise<void>
  /** The order that an event has told for this key. */
  orderOf(key: string): Order | undefined
  pause(ms: number): Promise<void>
  /** The pass for a sale that is at hand. */
  passFor(sale: string): string | undefined
  /** Gets a pass, by whatever the shop wants for it; false when the shopper gave up. Rejects as ops do. */
  earnPass(sale: string): Promise<boolean>
}

const PAUSE_MS = 500
const LONGEST_PAUSE_MS = 5_000
/** A press this close to the opening waits for it instead of being refused. */
const EDGE_MS = 2_000
/** So many passes are earned for one press at most: who is not let in with them will not be with another one. */
const MOST_PASSES = 3

/**
 * A key of 16 random characters, 80 bits: it has to differ from this buyer's others in one sale, and Redis keeps it twice
 * with each order. randomUUID would need a secure context, which a shop on a LAN is not.
 */
export function newKey(): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => alphabet[n % 32]).join('')
}

/** Whether the server has not decided yet, so that the same key must be asked again. */
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
 * Carries a press until its outcome is known. Unknown is not failed: after `busy`, a lost connection, an answer that
 * cannot be read or a silent server the same press is repeated with the same key, as often as it takes; the server gives the
 * same order for it, and no pass is asked for then: only a press that is new to the server needs one. `repeating` is
 * called before each repeat.
 */
export async function carry(press: Press, backend: Backend, repeating: () => void): Promise<Outcome> {
  const { key, sale, qty, address } = press
  const fields = { sale, qty, key, ...(address ? { address } : {}) }
  let passes = 0
  let wanting = false
  for (let repeats = 0; ;) {
    await backend.untilLive()
    if (backend.user() !== press.user) return { kind: 'foreign' }
    const order = backend.orderOf(key)
    if (order) return { kind: 'settled', order }
    let asked = 0
    try {
      if (wanting && !(await backend.earnPass(sale))) return { kind: 'givenup' }
      wanting = false
      const pass = backend.passFor(sale)
      return { kind: 'reserved', receipt: await backend.buy({ ...fields, ...(pass ? { pass } : {}) }) }
    } catch (error) {
      if (error instanceof Refused) {
        if (wantsPass(error.refusal) && passes++ < MOST_PASSES) {
          wanting = true
          continue
        }
        if (!undecided(error.refusal)) return { kind: 'refused', refusal: error.refusal }
        asked = error.refusal.retry_ms
      } else if (!(error instanceof Lost)) {
        console.error('asking for a press of Buy failed:', error)
      }
    }
    repeating()
    await backend.pause(asked || Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 1.5 ** repeats++))
  }
}
