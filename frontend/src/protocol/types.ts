/**
 * The types of the socket protocol, version 1. Ids are strings (64 bit), times are Unix milliseconds of the server's
 * clock, amounts are whole fen. Objects from the server are replaced, never modified.
 */

export const SUBPROTOCOL = 'stampede.v1'

export const ERROR_CODES = [
  'bad_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'unknown_op',
  'not_open',
  'closed',
  'sold_out',
  'limit_reached',
  'duplicate_key',
  'wrong_state',
  'conflict',
  'rate_limited',
  'busy',
  'paused',
  'pass_required',
  'captcha_required',
  'address_required',
  'order_expired',
  'internal',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

export const PHASES = ['upcoming', 'open', 'closed'] as const
export type Phase = (typeof PHASES)[number]

export const ORDER_STATES = [
  'reserved',
  'pending',
  'paid',
  'shipped',
  'finished',
  'cancelled',
  'expired',
  'refused',
  'refunding',
  'refunded',
] as const
/** States that this page does not support become `unknown`. */
export type OrderState = (typeof ORDER_STATES)[number] | 'unknown'

/** A time window in which its sales are open. */
export interface Slot {
  readonly id: string
  readonly phase: Phase
  readonly opens_at: number
  readonly closes_at: number
  /** Number of sales. */
  readonly sales: number
}

export interface Image {
  readonly url: string
  readonly alt: string
}

/** The texts of a product in a further language. */
export type ProductText = Readonly<Partial<Record<'name' | 'category' | 'description' | 'rules', string>>>

/** An object with texts in further languages, by language. */
export interface Translated {
  readonly texts?: Readonly<Record<string, ProductText>>
}

/** Its texts are names and categories. */
export interface Product extends Translated {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly images: readonly Image[]
  readonly list_price_fen: number
  /** An order requires a delivery address before it is paid. */
  readonly ships: boolean
}

/** The details of a product, loaded on demand. */
export interface Details extends Translated {
  /** HTML; only MarkupView renders it. */
  readonly description: string
  /** Plain text. */
  readonly rules: string
}

/** The changing numbers of a sale. */
export interface Counters {
  /** Units free to reserve now. */
  readonly stock: number
  /** Units reserved or unpaid. */
  readonly held: number
  readonly sold: number
  /** Tickets settled so far; the base of a buyer's place. */
  readonly done: number
  /** Orders per second, averaged over 5 s. */
  readonly rate: number
  /** People watching, on all nodes. */
  readonly watching: number
}

/** One product offered in one slot. */
export interface Sale extends Counters {
  readonly id: string
  readonly slot: string
  readonly product: Product
  readonly price_fen: number
  readonly initial: number
  readonly added: number
  /** Units one buyer may hold. */
  readonly limit: number
  readonly phase: Phase
  readonly paused: boolean
  /** The challenge before a pass: `none`, `captcha` or `work`. */
  readonly challenge: string
  /** A buy requires a pass. */
  readonly pass?: boolean
  readonly opens_at: number
  readonly closes_at: number
}

export interface Address {
  readonly name: string
  readonly phone: string
  readonly text: string
}

export interface Order {
  readonly id: string
  readonly sale: string
  readonly product_name: string
  readonly qty: number
  readonly price_fen: number
  readonly amount_fen: number
  readonly state: OrderState
  readonly reason?: string
  readonly ticket: number
  /** Grows with each state; 0 before the row exists. */
  readonly rev: number
  readonly created_at: number
  /** The last instant at which a pending order can be paid; all countdowns end at it. */
  readonly pay_until?: number
  readonly paid_at?: number
  readonly cancelled_at?: number
  readonly tracking?: string
  readonly address?: Address
}

/** An accepted buy whose row does not exist yet. */
export interface Reservation {
  readonly order: string
  readonly sale: string
  readonly qty: number
  readonly key: string
  readonly ticket: number
  readonly created_at: number
}

export interface User {
  readonly id: string
  readonly name: string
}

/** The reply to `hello`. */
export interface Welcome {
  readonly now: number
  readonly user?: User
  readonly cursor: string
  /** Personal events since the cursor that was sent. */
  readonly missed: readonly PersonalEvent[]
  /** `missed` is incomplete: read `orders` instead. */
  readonly reset: boolean
  readonly reservations: readonly Reservation[]
}

export interface WatchView {
  readonly slots: readonly Slot[]
  readonly sales: readonly Sale[]
}

/** The reply to an accepted `buy`. */
export interface Receipt {
  readonly order: string
  readonly ticket: number
  readonly place: number
  readonly state: OrderState
}

export interface OrderPage {
  readonly orders: readonly Order[]
  readonly more: boolean
}

export interface TickLine extends Counters {
  readonly id: string
}

export interface OrderEvent {
  readonly ev: 'order'
  readonly cursor: string
  readonly key: string
  readonly order: Order
}

/** Sent when it happens; after a reconnect, the newest state of each changed order. */
export type PersonalEvent = OrderEvent

export type ServerEvent =
  | { ev: 'tick'; now: number; sales: readonly TickLine[] }
  | { ev: 'slot'; slot: Slot }
  | { ev: 'sale'; sale: Sale }
  | PersonalEvent
  /** The shop's banner, until `until` or the next banner; an empty text removes it. */
  | { ev: 'notice'; level: string; text: string; texts: Readonly<Record<string, string>>; until?: number }
  | { ev: 'bye'; code: number; retry_ms: number }

/** The error of a rejected op. */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  /** The pause before a retry in milliseconds; 0 if the server sent none. */
  readonly retry_ms: number
  /** With `limit_reached`: the orders that the buyer already has. */
  readonly orders: readonly { id: string; state: OrderState }[]
}

export type ServerFrame =
  | { kind: 'ok'; id: number; ok: unknown }
  | { kind: 'error'; id: number; error: Refusal }
  | { kind: 'event'; event: ServerEvent }
  /** An event for operators, or of a later protocol version. */
  | { kind: 'unknown'; event: unknown }

export interface BuyFields {
  readonly sale: string
  readonly qty: number
  /** Chosen by the client, 8–64 characters; the same for every repeat of one buy attempt. */
  readonly key: string
  readonly address?: Address
  readonly pass?: string
}

/** Allows its owner one buy in one sale, until `until`. */
export interface BuyPass {
  readonly pass: string
  readonly until: number
}

/** The challenge for a pass: proof of work, or a captcha. */
export type Challenge =
  | {
      readonly kind: 'work'
      readonly id: string
      readonly text: string
      readonly bits: number
      readonly until: number
    }
  | { readonly kind: 'captcha'; readonly id: string; readonly image: string; readonly until: number }

export type PassResult = BuyPass | { readonly challenge: Challenge }

/** The payment method: a desktop or mobile web page, the gateway's app, or a code. */
export type PayVia = 'page' | 'wap' | 'app' | 'qr'

/** The payment target: one of the fields, depending on the method. */
export interface Payment {
  readonly url?: string
  readonly order_string?: string
  readonly qr?: string
}

/** The ops of a client, with their fields. */
export interface OpFields {
  hello: { token?: string; cursor?: string; lang?: string }
  renew: { token: string }
  time: { t0: number }
  watch: { slot?: string; sales?: string[] }
  unwatch: { slot?: string; sales?: string[] }
  buy: BuyFields
  pass: { sale: string }
  solve: { sale: string; task: string; answer: string }
  cancel: { order: string }
  pay: { order: string; via: PayVia }
  address: { order: string; address: Address }
  refund: { order: string; reason: string }
  orders: { sale?: string; before?: string; limit?: number }
  seen: { cursor: string }
  /** For operators. */
  board: { on: boolean }
}

/** The replies of the server, by op. */
export interface OpReplies {
  hello: Welcome
  renew: unknown
  time: { t0: number; now: number }
  watch: WatchView
  unwatch: unknown
  buy: Receipt
  pass: PassResult
  solve: BuyPass
  cancel: { state: OrderState }
  pay: Payment
  address: { state: OrderState }
  refund: { state: OrderState }
  orders: OrderPage
  seen: unknown
  board: unknown
}

export type Op = keyof OpFields
