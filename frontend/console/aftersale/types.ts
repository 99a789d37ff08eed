import { fields, id, list, number, numberOr, optional, text, type Fields } from '../fields'
import { parseOrder } from '../../src/protocol/parse'
import type { Order } from '../../src/protocol/types'
import { parseBlock, type Block } from '../shop/types'

/** A refund or a refund request. `requested` and `stuck` wait for an operator. */
export interface Refund {
  readonly order: string
  readonly request: string
  readonly state: string
  readonly amount_fen: number
  readonly reason: string
  readonly requested_at: number
  readonly decided_at?: number
  readonly attempts: number
  readonly note?: string
}

export const REFUND_STATES = ['requested', 'stuck', 'open', 'done', 'declined'] as const

/** The parcel of an order. */
export interface Shipment {
  readonly carrier: string
  readonly tracking: string
  readonly shipped_at: number
  /** The operator who entered the parcel; absent if it was entered with the command line. */
  readonly shipped_by?: string
  /** The time at which the order finishes automatically. */
  readonly finish_at?: number
}

/** An order with its buyer, as operators see it. */
export interface OperatorOrder extends Order {
  readonly user: string
  readonly pay_by?: number
  readonly trade_no?: string
  readonly refund?: Refund
  readonly shipment?: Shipment
}

export const LISTED_STATES = [
  'paid',
  'pending',
  'shipped',
  'finished',
  'refunding',
  'refunded',
  'expired',
  'cancelled',
  'refused',
] as const

/** Reports whether the server refunds an order of this state. The receipt of a finished order is confirmed. */
export const isRefundable = (state: string): boolean => state === 'paid' || state === 'shipped'

/** The maximum length of the reason of a refund, as on the server. */
export const MAX_REFUND_REASON = 200

/** An account without its secrets. */
export interface Account {
  readonly id: string
  readonly email?: string
  readonly name: string
  readonly role: string
  readonly state: string
  readonly lang: string
  readonly created_at: number
}

export interface Device {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly last_seen_at: number
}

/** The stored data of a user. A guest has only orders and blocks. */
export interface UserFile {
  readonly id: string
  readonly guest: boolean
  readonly account?: Account
  readonly devices: readonly Device[]
  readonly orders: readonly OperatorOrder[]
  /** Whether older orders exist. */
  readonly more: boolean
  readonly blocks: readonly Block[]
}

export const PAYMENT_OUTCOMES = [
  'taken',
  'late',
  'revived',
  'refunding',
  'refunded',
  'unknown_order',
  'wrong_amount',
  'second_trade',
  'never_payable',
] as const

/** Outcomes of payments that an operator must check and refund. */
export const ANOMALIES: readonly string[] = ['unknown_order', 'wrong_amount', 'second_trade', 'never_payable']

/** A payment that the gateway reports, and its outcome. */
export interface Payment {
  readonly trade_no: string
  readonly order: string
  readonly amount_fen: number
  readonly paid_at: number
  readonly seen_at: number
  readonly outcome: string
}

/** The result of one line of a parcel file. */
export interface ShipLine {
  readonly line: number
  readonly order?: string
  readonly result: string
  readonly message?: string
}

export interface ShipReport {
  readonly dry_run: boolean
  readonly shipped: number
  readonly unchanged: number
  readonly failed: number
  readonly lines: readonly ShipLine[]
}

export function parseRefund(value: unknown): Refund {
  const f = fields(value, 'refund')
  return {
    order: id(f, 'order'),
    request: text(f, 'request'),
    state: text(f, 'state'),
    amount_fen: number(f, 'amount_fen'),
    reason: text(f, 'reason'),
    requested_at: number(f, 'requested_at'),
    attempts: numberOr(f, 'attempts', 0),
    ...optional(f, 'decided_at', number),
    ...optional(f, 'note', text),
  }
}

function parseShipment(value: unknown): Shipment {
  const f = fields(value, 'shipment')
  return {
    carrier: text(f, 'carrier'),
    tracking: text(f, 'tracking'),
    shipped_at: number(f, 'shipped_at'),
    ...optional(f, 'shipped_by', id),
    ...optional(f, 'finish_at', number),
  }
}

const present = (f: Fields, name: string): boolean => f[name] !== undefined && f[name] !== null

export function parseOperatorOrder(value: unknown): OperatorOrder {
  const f = fields(value, 'order')
  return {
    ...parseOrder(value),
    user: id(f, 'user'),
    ...optional(f, 'trade_no', text),
    ...(present(f, 'refund') ? { refund: parseRefund(f.refund) } : {}),
    ...(present(f, 'shipment') ? { shipment: parseShipment(f.shipment) } : {}),
  }
}

export function parseAccount(value: unknown): Account {
  const f = fields(value, 'account')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    role: text(f, 'role'),
    state: text(f, 'state'),
    lang: text(f, 'lang'),
    created_at: number(f, 'created_at'),
    ...optional(f, 'email', text),
  }
}

function parseDevice(value: unknown): Device {
  const f = fields(value, 'device')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    created_at: number(f, 'created_at'),
    last_seen_at: number(f, 'last_seen_at'),
  }
}

export function parseUserFile(value: unknown): UserFile {
  const f = fields(value, 'user')
  const user = id(f, 'id')
  return {
    id: user,
    guest: f.guest === true,
    ...(present(f, 'account') ? { account: parseAccount(f.account) } : {}),
    devices: list(f, 'devices', parseDevice),
    // The orders of a user file omit the buyer.
    orders: list(f, 'orders', (order) => ({ ...parseOrder(order), user })),
    more: f.more === true,
    blocks: list(f, 'blocks', parseBlock),
  }
}

export function parsePayment(value: unknown): Payment {
  const f = fields(value, 'payment')
  return {
    trade_no: text(f, 'trade_no'),
    order: id(f, 'order'),
    amount_fen: number(f, 'amount_fen'),
    paid_at: number(f, 'paid_at'),
    seen_at: number(f, 'seen_at'),
    outcome: text(f, 'outcome'),
  }
}

export function parseShipReport(value: unknown): ShipReport {
  const f = fields(value, 'report')
  return {
    dry_run: f.dry_run === true,
    shipped: number(f, 'shipped'),
    unchanged: number(f, 'unchanged'),
    failed: number(f, 'failed'),
    lines: list(f, 'lines', (line) => {
      const l = fields(line, 'line')
      return {
        line: number(l, 'line'),
        result: text(l, 'result'),
        ...optional(l, 'order', id),
        ...optional(l, 'message', text),
      }
    }),
  }
}
