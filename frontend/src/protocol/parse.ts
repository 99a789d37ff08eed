/**
 * Parses every frame of the socket from `unknown` into a type of types.ts; account.ts parses the account routes. A
 * missing field or a field of the wrong type throws a Malformed with its name. Unknown fields are ignored, as the
 * protocol requires. In a list, only unreadable items are dropped. An unknown value that a later server may add (a
 * state, a phase) does not invalidate the rest.
 */
import * as v from 'valibot'
import {
  flag,
  id,
  list,
  Malformed,
  number,
  object,
  optional,
  parse,
  parser,
  png,
  record,
  text,
  type Schema,
} from './fields'
import {
  ERROR_CODES,
  ORDER_STATES,
  PHASES,
  type Address,
  type BuyPass,
  type Challenge,
  type Details,
  type Image,
  type Op,
  type OpReplies,
  type Order,
  type OrderEvent,
  type OrderState,
  type ProductText,
  type Refusal,
  type Reservation,
  type Sale,
  type ServerEvent,
  type ServerFrame,
  type Slot,
  type TickLine,
  type User,
  type Welcome,
} from './types'

export { Malformed }

const state = v.fallback(v.picklist([...ORDER_STATES, 'unknown']), 'unknown')
/** The page computes phases with its clock. Only `closed` adds information: a slot or sale can close early. */
const phase = v.fallback(v.picklist(PHASES), 'open')

const window = { phase, opens_at: number, closes_at: number }
const counters = { stock: number, held: number, sold: number, done: number, rate: number, watching: number }

const slot = object<Slot>({ id, ...window, sales: number })
const slots = object<{ slots: readonly Slot[] }>({ slots: list(slot) })
export const parseSlots = (value: unknown): readonly Slot[] => parse(slots, value).slots

const productTexts = record(
  object<ProductText>({
    name: optional(text),
    category: optional(text),
    description: optional(text),
    rules: optional(text),
  }),
)

/** Pictures must come from this site or over https; other URLs (javascript:, data:) are dropped. */
const image = object<Image>({ url: v.pipe(text, v.regex(/^(\/(?!\/)|https:\/\/)/)), alt: text })

const sale = object<Sale>({
  id,
  slot: id,
  product: object<Sale['product']>({
    id,
    name: text,
    category: text,
    images: list(image),
    list_price_fen: number,
    ships: flag,
    texts: optional(productTexts),
  }),
  price_fen: number,
  initial: number,
  added: number,
  limit: number,
  ...window,
  paused: flag,
  challenge: text,
  pass: optional(flag),
  ...counters,
})

export const parseSale = parser(sale)

/** Texts by language. */
const texts = v.optional(record(text), {})
export const parseTexts = parser(texts)

type SaleDetails = Partial<Pick<Details, 'description' | 'rules'>> & { product: Pick<Details, 'texts'> }
const details = object<SaleDetails>({
  description: optional(text),
  rules: optional(text),
  product: object<SaleDetails['product']>({ texts: optional(productTexts) }),
})
export function parseDetails(value: unknown): Details {
  const { product, ...own } = parse(details, value)
  return { description: '', rules: '', ...own, ...product }
}

export const address = { name: text, phone: text, text }
export const parseAddress = parser(object<Address>(address))

/** A node of an earlier version sends only `pay_by`, which is up to ten seconds later. */
const order: Schema<Order> = v.pipe(
  object<Order & { pay_by?: number }>({
    id,
    sale: id,
    product_name: text,
    qty: number,
    price_fen: number,
    amount_fen: number,
    refunded_fen: optional(number),
    state,
    reason: optional(text),
    ticket: number,
    rev: number,
    created_at: number,
    pay_by: optional(number),
    pay_until: optional(number),
    paid_at: optional(number),
    cancelled_at: optional(number),
    tracking: optional(text),
    address: optional(object<Address>(address)),
  }),
  v.transform(({ pay_by, ...rest }) =>
    pay_by && rest.state === 'pending' ? { pay_until: pay_by, ...rest } : rest,
  ),
)
export const parseOrder = parser(order)

const reservation = object<Reservation>({
  order: id,
  sale: id,
  qty: number,
  key: text,
  ticket: number,
  created_at: number,
})

export const user = object<User>({ id, name: text })

const orderEvent = object<OrderEvent>({ ev: v.literal('order'), cursor: text, key: text, order })

/** If a missed event is unreadable, the page must read the orders instead. */
const welcome: Schema<Welcome> = v.pipe(
  object<Omit<Welcome, 'missed'> & { missed: unknown[] }>({
    now: number,
    cursor: v.optional(text, ''),
    missed: list(v.unknown()),
    reset: v.optional(flag, false),
    reservations: list(reservation),
    user: optional(user),
  }),
  v.transform(({ missed: all, reset, ...rest }) => {
    const ofOrders = all.filter((event) => (event as { ev?: unknown } | null)?.ev === 'order')
    const missed = parse(list(orderEvent), ofOrders)
    return { ...rest, missed, reset: reset || missed.length < ofOrders.length }
  }),
)

const work = object<Challenge & { kind: 'work' }>({
  kind: v.literal('work'),
  id: text,
  text,
  bits: number,
  until: number,
})
const picture = object<Challenge & { kind: 'captcha' }>({
  kind: v.literal('captcha'),
  id: text,
  image: png,
  until: number,
})
const challenge = v.lazy((value) => ((value as Challenge | null)?.kind === 'work' ? work : picture))
const challenged = object<{ challenge: Challenge }>({ challenge })
const pass = object<BuyPass>({ pass: text, until: number })

const newState = object<{ state: OrderState }>({ state })

const replies: { readonly [O in Op]: Schema<OpReplies[O]> } = {
  hello: welcome,
  time: object<OpReplies['time']>({ t0: number, now: number }),
  watch: object<OpReplies['watch']>({ slots: list(slot), sales: list(sale) }),
  buy: object<OpReplies['buy']>({ order: id, ticket: number, place: number, state }),
  cancel: newState,
  pay: object<OpReplies['pay']>({ url: optional(text), order_string: optional(text), qr: optional(text) }),
  address: newState,
  refund: newState,
  orders: object<OpReplies['orders']>({ orders: list(order), more: flag }),
  pass: v.lazy((value) => ((value as { challenge?: unknown } | null)?.challenge ? challenged : pass)),
  solve: pass,
  renew: v.unknown(),
  unwatch: v.unknown(),
  seen: v.unknown(),
  board: v.unknown(),
}

/** Parses the `ok` field of a reply to the given op. */
export function parseReply<O extends Op>(op: O, ok: unknown): OpReplies[O] {
  return parse(replies[op], ok)
}

/** Parses an error object; an unknown code becomes `internal`. */
export const parseRefusal = parser(
  object<Refusal>({
    code: v.fallback(v.picklist(ERROR_CODES), 'internal'),
    message: v.fallback(text, ''),
    retry_ms: v.optional(number, 0),
    orders: list(object<Refusal['orders'][number]>({ id, state })),
  }),
)

type EventOf<N extends ServerEvent['ev']> = Extract<ServerEvent, { ev: N }>
const events: { readonly [N in ServerEvent['ev']]: Schema<EventOf<N>> } = {
  tick: object<EventOf<'tick'>>({
    ev: v.literal('tick'),
    now: number,
    sales: list(object<TickLine>({ id, ...counters })),
  }),
  slot: v.pipe(
    object<Omit<Slot, 'id'> & { slot: string }>({ slot: id, ...window, sales: number }),
    v.transform(({ slot, ...rest }) => ({ ev: 'slot' as const, slot: { id: slot, ...rest } })),
  ),
  sale: object<EventOf<'sale'>>({ ev: v.literal('sale'), sale }),
  order: orderEvent,
  notice: object<EventOf<'notice'>>({
    ev: v.literal('notice'),
    level: text,
    text,
    texts,
    until: optional(number),
  }),
  bye: object<EventOf<'bye'>>({ ev: v.literal('bye'), code: number, retry_ms: number }),
}

/** Parses one text frame from the server. */
export function parseFrame(data: unknown): ServerFrame {
  if (typeof data !== 'string') throw new Malformed('frame is not text')
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    throw new Malformed('frame is not JSON')
  }
  const { ev, id, ok, error } = parse(record(v.unknown()), value)
  if (ev !== undefined) {
    if (!Object.hasOwn(events, String(ev))) return { kind: 'unknown', event: value }
    return { kind: 'event', event: parse<ServerEvent>(events[ev as ServerEvent['ev']], value) }
  }
  if (typeof id !== 'number') throw new Malformed('id is not a number')
  return error === undefined ? { kind: 'ok', id, ok } : { kind: 'error', id, error: parseRefusal(error) }
}
