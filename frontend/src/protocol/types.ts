/**
 * The words of the socket protocol, version 1. Ids are strings (64 bit), times are Unix milliseconds of the
 * server's clock, money is whole fen.
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
  id: string
  phase: Phase
  opens_at: number
  closes_at: number
  /** How many sales it offers. */
  sales: number
}

export interface Image {
  url: string
  alt: string
}

export interface Product {
  id: string
  name: string
  category: string
  images: Image[]
  list_price_fen: number
}

/** The numbers of a sale that move. */
export interface Counters {
  /** Units free to reserve now. */
  stock: number
  /** Units reserved or unpaid. */
  held: number
  sold: number
  /** Tickets settled so far; what a place is counted from. */
  done: number
  /** Orders per second, averaged over 5 s. */
  rate: number
  /** People watching, on all nodes. */
  watching: number
}

/** One product offered in one slot. */
export interface Sale extends Counters {
  id: string
  slot: string
  product: Product
  price_fen: number
  initial: number
  added: number
  /** Units one buyer may hold. */
  limit: number
  phase: Phase
  paused: boolean
  challenge: string
  opens_at: number
  closes_at: number
}

export interface Address {
  name: string
  phone: string
  text: string
}

export interface Order {
  id: string
  sale: string
  product_name: string
  qty: number
  price_fen: number
  amount_fen: number
  state: OrderState
  reason?: string
  ticket: number
  /** Grows with each state; 0 while there is no row yet. */
  rev: number
  created_at: number
  pay_by?: number
  paid_at?: number
  cancelled_at?: number
  tracking?: string
  address?: Address
}

/** A buy that was accepted and has no row yet. */
export interface Reservation {
  order: string
  sale: string
  qty: number
  key: string
  ticket: number
  created_at: number
}

export interface User {
  id: string
  name: string
}

/** What `hello` answers. */
export interface Welcome {
  now: number
  user?: User
  cursor: string
  /** Personal events since the cursor that was sent. */
  missed: PersonalEvent[]
  /** `missed` is not all: read `orders` instead. */
  reset: boolean
  reservations: Reservation[]
}

export interface WatchView {
  slots: Slot[]
  sales: Sale[]
}

/** What an accepted `buy` answers. */
export interface Receipt {
  order: string
  ticket: number
  place: number
  state: OrderState
}

export interface OrderPage {
  orders: Order[]
  more: boolean
}

export interface TickLine extends Counters {
  id: string
}

export interface OrderEvent {
  ev: 'order'
  cursor: string
  key: string
  order: Order
}

/** Kept by the server in a log per user and repeated after a reconnect. */
export type PersonalEvent = OrderEvent

export type ServerEvent =
  | { ev: 'tick'; now: number; sales: TickLine[] }
  | { ev: 'slot'; slot: Slot }
  | { ev: 'sale'; sale: Sale }
  | PersonalEvent
  | { ev: 'notice'; level: string; text: string }
  | { ev: 'bye'; code: number; retry_ms: number }

/** Why an op was refused, in the protocol's words. */
export interface Refusal {
  code: ErrorCode
  message: string
  /** When trying again makes sense; 0 when the server did not say. */
  retry_ms: number
  /** With `limit_reached`: what the buyer already holds. */
  orders: { id: string; state: OrderState }[]
}

export type ServerFrame =
  | { kind: 'ok'; id: number; ok: unknown }
  | { kind: 'error'; id: number; error: Refusal }
  | { kind: 'event'; event: ServerEvent }
  /** An event of a later version of the protocol. */
  | { kind: 'unknown' }

export interface BuyFields {
  sale: string
  qty: number
  /** Chosen by the client, 8–64 characters; the same for every repeat of one press. */
  key: string
  address?: Address
}

/** How to pay: on a page of a desktop's or a phone's browser, in the gateway's app, or by a code. */
export type PayVia = 'page' | 'wap' | 'app' | 'qr'

/** Where to pay: one of the first three, depending on the way. */
export interface Payment {
  url?: string
  order_string?: string
  qr?: string
  pay_by: number
  /** When the gateway stops taking money, a little before `pay_by`. */
  pay_until?: number
}

/** What a client may ask, and with which fields. */
export interface Requests {
  hello: { token?: string; cursor?: string; lang?: string }
  renew: { token: string }
  time: { t0: number }
  watch: { slot?: string; sales?: string[] }
  unwatch: { slot?: string; sales?: string[] }
  buy: BuyFields
  cancel: { order: string }
  pay: { order: string; via: PayVia }
  refund: { order: string; reason: string }
  orders: { sale?: string; before?: string; limit?: number }
  seen: { cursor: string }
}

/** What the server answers to each of them. */
export interface Replies {
  hello: Welcome
  renew: unknown
  time: { t0: number; now: number }
  watch: WatchView
  unwatch: unknown
  buy: Receipt
  cancel: { state: OrderState }
  pay: Payment
  refund: { state: OrderState }
  orders: OrderPage
  seen: unknown
}

export type Op = keyof Requests
