/**
 * The wire data of the page. The types are generated from asyncapi.yaml and openapi.yaml; this file adds only the
 * differences of parsed data. Objects from the server are replaced, never modified.
 */
import type { components as HTTP } from './generated/http'
import { codeValues, orderStateValues, phaseValues, type components } from './generated/socket'

type Socket = components['schemas']
type Http = HTTP['schemas']

export const SUBPROTOCOL = 'stampede.v1'

export const ERROR_CODES = codeValues
export type ErrorCode = Socket['Code']

export const PHASES = phaseValues
export type Phase = Socket['Phase']

export const ORDER_STATES = orderStateValues
/** States that this page does not support become `unknown`. */
export type OrderState = Socket['OrderState'] | 'unknown'
type WithState<T> = Omit<T, 'state'> & { readonly state: OrderState }

/** A time window in which its sales are open. */
export type Slot = Socket['Slot']
export type Image = Socket['Image']
export type Product = Socket['Product']

/** The texts of a product in a further language. */
export type ProductText = Http['ProductText']
/** An object with texts in further languages, by language. */
export interface Translated {
  readonly texts?: Http['ProductTexts']
}
/** The details of a product, loaded on demand. The description is HTML; only MarkupView renders it. */
export type Details = Required<Pick<Http['Sale'], 'description' | 'rules'>> & Translated

/** One product offered in one slot. A later version may add a challenge. */
export type Sale = Omit<Socket['Sale'], 'challenge'> & { readonly challenge: string }
/** The changing numbers of a sale. */
export type TickLine = Socket['TickLine']

export type Address = Socket['Address']
/** All countdowns of a pending order end at `pay_until`. */
export type Order = WithState<Omit<Socket['Order'], 'pay_by' | 'trade_no'>>
/** An accepted buy whose row does not exist yet. */
export type Reservation = Omit<Socket['Reservation'], 'place' | 'state'>
export type User = Omit<Socket['User'], 'role'>

/** The ops of a client. */
export type Op = { [N in keyof Socket]: Socket[N] extends { op: N } ? N : never }[keyof Socket]
/** The fields of the ops. */
export type OpFields = { [O in Op]: Omit<Socket[O], 'id' | 'op'> }
export type BuyFields = OpFields['buy']
/** The payment method: a desktop or mobile web page, the gateway's app, or a code. */
export type PayVia = OpFields['pay']['via']

type Ok<O extends Op> = Socket[`${O}Reply`]['ok']

/** The reply to `hello`. If `reset` is true, `missed` is incomplete: read `orders` instead. */
export type Welcome = Pick<Ok<'hello'>, 'now' | 'cursor'> & {
  readonly user?: User
  readonly missed: readonly OrderEvent[]
  readonly reset: boolean
  readonly reservations: readonly Reservation[]
}
export interface WatchView {
  readonly slots: readonly Slot[]
  readonly sales: readonly Sale[]
}
/** The reply to an accepted `buy`. */
export type Receipt = WithState<Ok<'buy'>>
export type OrderPage = Omit<Ok<'orders'>, 'orders'> & { readonly orders: readonly Order[] }
/** Allows its owner one buy in one sale, until `until`. */
export type BuyPass = Socket['Pass']
/** The challenge for a pass: proof of work, or a captcha. */
export type Challenge = Socket['Challenge']
/** The payment target: one of the fields, depending on the method. */
export type Payment = Omit<Ok<'pay'>, 'pay_by' | 'pay_until'>

/** The replies of the server, by op. */
export interface OpReplies {
  hello: Welcome
  renew: unknown
  time: Ok<'time'>
  watch: WatchView
  unwatch: unknown
  buy: Receipt
  pass: Ok<'pass'>
  solve: Ok<'solve'>
  cancel: WithState<Ok<'cancel'>>
  pay: Payment
  address: WithState<Ok<'address'>>
  refund: WithState<Ok<'refund'>>
  orders: OrderPage
  seen: unknown
  board: unknown
}

/** Sent when it happens; after a reconnect, the newest state of each changed order. */
export type OrderEvent = Omit<Socket['orderEvent'], 'order'> & { readonly order: Order }
/** The shop's banner, until `until` or the next banner; an empty text removes it. */
type NoticeEvent = Omit<Socket['noticeEvent'], 'level' | 'texts'> & {
  readonly level: string
  readonly texts: NonNullable<Socket['noticeEvent']['texts']>
}

export type ServerEvent =
  | Socket['tickEvent']
  | { readonly ev: 'slot'; readonly slot: Slot }
  | (Omit<Socket['saleEvent'], 'sale'> & { readonly sale: Sale })
  | OrderEvent
  | NoticeEvent
  | Socket['byeEvent']

/** The error of a rejected op. */
export type Refusal = Omit<Socket['Error'], 'orders'> & {
  readonly orders: readonly WithState<Socket['OrderRef']>[]
}

export type ServerFrame =
  | { kind: 'ok'; id: number; ok: unknown }
  | { kind: 'error'; id: number; error: Refusal }
  | { kind: 'event'; event: ServerEvent }
  /** An event for operators, or of a later protocol version. */
  | { kind: 'unknown'; event: unknown }

/** The response of the login routes. */
export type LoggedIn = Pick<Http['Session'], 'access'> & { readonly user: User }
/** A captcha picture. */
export type Captcha = Omit<Http['Captcha'], 'expires'>
/** The user's profile in the account sheet. */
export type Profile = Omit<Http['Me'], 'role' | 'created_at' | 'lang'> & { readonly lang?: string }
/** A browser or an app that is logged in. */
export type Device = Http['Device']
export type Activated = Http['Activated']
export type SavedAddress = Http['SavedAddress']
export type Shop = Http['Shop']
/** A text of the page. It may be in another language than the page. */
export type ShopText = Omit<Http['ShopText'], 'lang'> & { readonly lang: string }
