/**
 * The words of the socket protocol, version 1. Ids are strings (64 bit), times are Unix milliseconds of the
 * server's clock, money is whole fen. What the server has told is replaced, never written to.
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
/** What this page does not know yet is shown as `unknown`. */
export type OrderState = (typeof ORDER_STATES)[number] | 'unknown'

/** A time window in which its sales are open. */
export interface Slot {
  readonly id: string
  readonly phase: Phase
  readonly opens_at: number
  readonly closes_at: number
  /** How many sales it offers. */
  readonly sales: number
}

export interface Image {
  readonly url: string
  readonly alt: string
}

export interface Product {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly images: readonly Image[]
  readonly list_price_fen: number
}

/** What is told of a product when somebody asks for it. */
export interface Details {
  /** HTML of the shop; shown by MarkupView alone. */
  readonly description: string
  /** Plain text. */
  readonly rules: string
}

/** The numbers of a sale that move. */
export interface Counters {
  /** Units free to reserve now. */
  readonly stock: number
  /** Units reserved or unpaid. */
  readonly held: number
  readonly sold: number
  /** Tickets settled so far; what a place is counted from. */
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
  /** What comes before a pass: `none`, `captcha` or `work`. */
  readonly challenge: string
  /** Only who shows a pass may buy. */
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
  /** Grows with each state; 0 while there is no row yet. */
  readonly rev: number
  readonly created_at: number
  readonly pay_by?: number
  readonly paid_at?: number
  readonly cancelled_at?: number
  readonly tracking?: string
  readonly address?: Address
}

/** A buy that was accepted and has no row yet. */
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

/** What `hello` answers. */
export interface Welcome {
  readonly now: number
  readonly user?: User
  readonly cursor: string
  /** Personal events since the cursor that was sent. */
  readonly missed: readonly PersonalEvent[]
  /** `missed` is not all: read `orders` instead. */
  readonly reset: boolean
  readonly reservations: readonly Reservation[]
}

export interface WatchView {
  readonly slots: readonly Slot[]
  readonly sales: readonly Sale[]
}

/** What an accepted `buy` answers. */
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

/** Told as it happens; after a reconnect the newest state of each order that changed. */
export type PersonalEvent = OrderEvent

export type ServerEvent =
  | { ev: 'tick'; now: number; sales: readonly TickLine[] }
  | { ev: 'slot'; slot: Slot }
  | { ev: 'sale'; sale: Sale }
  | PersonalEvent
  /** What the shop tells everybody, until then or until it says something else; an empty text takes it back. */
  | { ev: 'notice'; level: string; text: string; texts: Readonly<Record<string, string>>; until?: number }
  | { ev: 'bye'; code: number; retry_ms: number }

/** Why an op was refused, in the protocol's words. */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  /** When trying again makes sense; 0 when the server did not say. */
  readonly retry_ms: number
  /** With `limit_reached`: what the buyer already holds. */
  readonly orders: readonly { id: string; state: OrderState }[]
}

export type ServerFrame =
  | { kind: 'ok'; id: number; ok: unknown }
  | { kind: 'error'; id: number; error: Refusal }
  | { kind: 'event'; event: ServerEvent }
  /** An event that shoppers are not told, or one of a later version of the protocol. */
  | { kind: 'unknown'; event: unknown }

export interface BuyFields {
  readonly sale: string
  readonly qty: number
  /** Chosen by the client, 8–64 characters; the same for every repeat of one press. */
  readonly key: string
  readonly address?: Address
  readonly pass?: string
}

/** Lets its owner buy once in one sale; `until` is when it ends. */
export interface BuyPass {
  readonly pass: string
  readonly until: number
}

/** What a shopper does for a pass: the browser computes, or a person reads a picture. */
export type Challenge =
  | {
      readonly kind: 'work'
      readonly id: string
      readonly text: string
      readonly bits: number
      readonly until: number
    }
  | { readonly kind: 'captcha'; readonly id: string; readonly image: string; readonly until: number }

export type PassAnswer = BuyPass | { readonly challenge: Challenge }

/** How to pay: on a page of a desktop's or a phone's browser, in the gateway's app, or by a code. */
export type PayVia = 'page' | 'wap' | 'app' | 'qr'

/** Where to pay: one of the first three, depending on the way. */
export interface Payment {
  readonly url?: string
  readonly order_string?: string
  readonly qr?: string
  readonly pay_by: number
  /** When the gateway stops taking money, a little before `pay_by`. */
  readonly pay_until?: number
}

/** What a client may ask, and with which fields. */
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
  refund: { order: string; reason: string }
  orders: { sale?: string; before?: string; limit?: number }
  seen: { cursor: string }
  /** For operators. */
  board: { on: boolean }
}

/** What the server answers to each of them. */
export interface OpReplies {
  hello: Welcome
  renew: unknown
  time: { t0: number; now: number }
  watch: WatchView
  unwatch: unknown
  buy: Receipt
  pass: PassAnswer
  solve: BuyPass
  cancel: { state: OrderState }
  pay: Payment
  refund: { state: OrderState }
  orders: OrderPage
  seen: unknown
  board: unknown
}

export type Op = keyof OpFields
