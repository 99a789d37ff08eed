import { describe, expect, it } from 'vitest'
import { buyStep, type BuyFacts, type BuyStep } from './buystep'

const ready: BuyFacts = {
  phase: 'open',
  paused: false,
  stock: 9,
  allowed: 2,
  held: 0,
  pending: false,
  challenged: false,
  reserved: false,
  unpaid: undefined,
  expired: false,
  blocked: false,
  mustLogIn: false,
}

/** The facts of each step from which a transition starts. */
const FROM = {
  upcoming: { phase: 'upcoming' },
  ready: {},
  login: { mustLogIn: true },
  check: { pending: true, challenged: true },
  sending: { pending: true },
  reserved: { reserved: true, held: 1 },
  address: { held: 1, unpaid: { payable: true, needsAddress: true } },
  pay: { held: 1, unpaid: { payable: true, needsAddress: false } },
  late: { held: 1, unpaid: { payable: false, needsAddress: false } },
  paid: { held: 1 },
  expired: { expired: true },
  sold_out: { stock: 0 },
  paused: { paused: true },
  limit: { allowed: 0 },
} satisfies Partial<Record<BuyStep, Partial<BuyFacts>>>

type Start = keyof typeof FROM

describe('the step of a buy', () => {
  it.each(Object.keys(FROM) as Start[])('is %s', (step) => {
    expect(buyStep({ ...ready, ...FROM[step] })).toBe(step)
  })

  it.each<[Start, string, Partial<BuyFacts>, BuyStep]>([
    ['upcoming', 'the sale opens', { phase: 'open' }, 'ready'],
    ['upcoming', 'the sale is paused', { paused: true }, 'paused'],
    ['ready', 'the shopper buys', { pending: true }, 'sending'],
    ['ready', 'the last unit is taken', { stock: 0 }, 'sold_out'],
    ['ready', 'the sale closes', { phase: 'closed' }, 'closed'],
    ['ready', 'the shop blocks the shopper', { blocked: true }, 'blocked'],
    ['login', 'the shopper logs in', { mustLogIn: false }, 'ready'],
    ['sending', 'the shop requires a pass', { challenged: true }, 'check'],
    ['check', 'the challenge is solved', { challenged: false }, 'sending'],
    ['check', 'the shopper gives up', { pending: false, challenged: false }, 'ready'],
    ['sending', 'the buy is accepted', { pending: false, reserved: true, held: 1 }, 'reserved'],
    ['sending', 'the last unit went to others', { pending: false, stock: 0 }, 'sold_out'],
    ['sending', 'the limit was reached on another device', { pending: false, allowed: 0 }, 'limit'],
    ['sending', 'the sale closes before the reply', { phase: 'closed' }, 'sending'],
    ['reserved', 'the order exists', { reserved: false, unpaid: FROM.pay.unpaid }, 'pay'],
    [
      'reserved',
      'the order requires an address',
      { reserved: false, unpaid: FROM.address.unpaid },
      'address',
    ],
    ['reserved', 'the order is refused', { reserved: false, held: 0 }, 'ready'],
    ['address', 'the address is set', { unpaid: FROM.pay.unpaid }, 'pay'],
    ['address', 'the time to pay ends', { unpaid: { payable: false, needsAddress: true } }, 'late'],
    ['pay', 'the payment arrives', { unpaid: undefined }, 'paid'],
    ['pay', 'the time to pay ends', { unpaid: FROM.late.unpaid }, 'late'],
    ['pay', 'the sale closes', { phase: 'closed' }, 'pay'],
    ['late', 'a late payment is accepted', { unpaid: undefined }, 'paid'],
    ['late', 'the order expires', { unpaid: undefined, held: 0, expired: true }, 'expired'],
    [
      'late',
      'the order expires, and the unit is sold',
      { unpaid: undefined, held: 0, expired: true, stock: 0 },
      'sold_out',
    ],
    ['expired', 'the shopper buys again', { pending: true }, 'sending'],
    ['sold_out', 'an unpaid unit returns', { stock: 1 }, 'ready'],
    ['paused', 'the sale resumes', { paused: false }, 'ready'],
    ['paid', 'the order is refunded, which counts towards the limit', { held: 0, allowed: 0 }, 'limit'],
    ['limit', 'the sale closes', { phase: 'closed' }, 'closed'],
  ])('%s: %s → %s', (from, _, change, to) => {
    expect(buyStep({ ...ready, ...FROM[from], ...change })).toBe(to)
  })
})
