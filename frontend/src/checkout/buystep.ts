import type { Phase } from '../protocol/types'

/** The facts about a sale and its shopper from which the step follows. */
export interface BuyFacts {
  phase: Phase
  paused: boolean
  stock: number
  /** Units that the limit still allows. */
  allowed: number
  /** Units in the shopper's orders of this sale. */
  held: number
  /** A buy attempt is undecided. */
  pending: boolean
  /** The buy waits for a challenge. */
  challenged: boolean
  reserved: boolean
  /** The order that is paid next. */
  unpaid: { payable: boolean; needsAddress: boolean } | undefined
  /** The last order of the sale was not paid in time. */
  expired: boolean
  /** The shop has blocked the shopper. */
  blocked: boolean
  /** Only accounts can buy. */
  mustLogIn: boolean
}

/**
 * The steps of a buy, from the first to the last. A step is derived from the facts and never stored, so a page that
 * reconnects or loads again is in the true step. The first rule that applies decides.
 */
const RULES = {
  /** The order can be paid, but requires a delivery address first. */
  address: ({ unpaid }) => unpaid?.payable === true && unpaid.needsAddress,
  pay: ({ unpaid }) => unpaid?.payable === true,
  /** The time to pay is over, and the shop has not ended the order yet. */
  late: ({ unpaid }) => unpaid !== undefined,
  blocked: ({ blocked }) => blocked,
  check: ({ pending, challenged }) => pending && challenged,
  sending: ({ pending }) => pending,
  reserved: ({ reserved }) => reserved,
  paid: ({ held }) => held > 0,
  closed: ({ phase }) => phase === 'closed',
  paused: ({ paused }) => paused,
  upcoming: ({ phase }) => phase === 'upcoming',
  limit: ({ allowed }) => allowed === 0,
  sold_out: ({ stock }) => stock === 0,
  login: ({ mustLogIn }) => mustLogIn,
  /** Like `ready`, after an order that was not paid in time. */
  expired: ({ expired }) => expired,
  ready: () => true,
} satisfies Record<string, (facts: BuyFacts) => boolean>

export type BuyStep = keyof typeof RULES

const STEPS = Object.keys(RULES) as BuyStep[]

/** The current step of a buy. */
export function buyStep(facts: BuyFacts): BuyStep {
  return STEPS.find((step) => RULES[step](facts)) ?? 'ready'
}
