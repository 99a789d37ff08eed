/**
 * Parses every frame of the socket from `unknown` into a type of types.ts; account.ts parses the account routes. A
 * missing field or a field of the wrong type throws a Malformed with its name. Unknown fields are ignored, as the
 * protocol requires. In a list, only unreadable items are dropped. An unknown value that a later server may add (a
 * state, a phase) does not invalidate the rest.
 */
import {
  fields,
  id,
  list,
  Malformed,
  number,
  numberOr,
  optional,
  readable,
  text,
  type Fields,
} from './fields'
import {
  ERROR_CODES,
  ORDER_STATES,
  PHASES,
  type Address,
  type BuyPass,
  type Challenge,
  type Counters,
  type Details,
  type Image,
  type Op,
  type Order,
  type OrderState,
  type Phase,
  type OrderPage,
  type PassResult,
  type Payment,
  type PersonalEvent,
  type Product,
  type ProductText,
  type Receipt,
  type Refusal,
  type OpReplies,
  type Reservation,
  type Sale,
  type ServerEvent,
  type ServerFrame,
  type Slot,
  type User,
  type WatchView,
  type Welcome,
} from './types'

export { Malformed }

function stateOf(f: Fields): OrderState {
  const state = text(f, 'state')
  return ORDER_STATES.find((known) => known === state) ?? 'unknown'
}

/** The page computes phases with its clock. Only `closed` adds information: a slot or sale can close early. */
function phaseOf(f: Fields): Phase {
  const phase = text(f, 'phase')
  return PHASES.find((known) => known === phase) ?? 'open'
}

function counters(f: Fields): Counters {
  return {
    stock: number(f, 'stock'),
    held: number(f, 'held'),
    sold: number(f, 'sold'),
    done: number(f, 'done'),
    rate: number(f, 'rate'),
    watching: number(f, 'watching'),
  }
}

function parseSlot(value: unknown): Slot {
  const f = fields(value, 'slot')
  return {
    id: id(f, 'id'),
    phase: phaseOf(f),
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    sales: number(f, 'sales'),
  }
}

/** Pictures must come from this site or over https; other URLs (javascript:, data:) are dropped. */
function parseImage(value: unknown): Image {
  const f = fields(value, 'image')
  const url = text(f, 'url')
  const allowed = /^\/(?!\/)/.test(url) || url.startsWith('https://')
  return { url: allowed ? url : '', alt: f.alt === undefined ? '' : text(f, 'alt') }
}

function parseProductTexts(f: Fields, name: string): Record<string, ProductText> {
  return Object.fromEntries(
    Object.entries(fields(f[name], name)).map(([lang, value]) => {
      const one = fields(value, lang)
      const field = (name: keyof ProductText) => optional(one, name, text)
      return [lang, { ...field('name'), ...field('category'), ...field('description'), ...field('rules') }]
    }),
  )
}

function parseProduct(value: unknown): Product {
  const f = fields(value, 'product')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    category: text(f, 'category'),
    images: readable(f, 'images', parseImage).filter((image) => image.url !== ''),
    list_price_fen: number(f, 'list_price_fen'),
    ships: f.ships === true,
    ...optional(f, 'texts', parseProductTexts),
  }
}

export function parseSale(value: unknown): Sale {
  const f = fields(value, 'sale')
  return {
    id: id(f, 'id'),
    slot: id(f, 'slot'),
    product: parseProduct(f.product),
    price_fen: number(f, 'price_fen'),
    initial: number(f, 'initial'),
    added: number(f, 'added'),
    limit: number(f, 'limit'),
    phase: phaseOf(f),
    paused: f.paused === true,
    challenge: text(f, 'challenge'),
    ...(f.pass === true ? { pass: true } : {}),
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    ...counters(f),
  }
}

/** Texts by language. */
export function parseTexts(value: unknown): Record<string, string> {
  const texts = value === undefined ? {} : fields(value, 'texts')
  return Object.fromEntries(Object.keys(texts).map((lang) => [lang, text(texts, lang)]))
}

export function parseDetails(value: unknown): Details {
  const f = fields(value, 'sale')
  return {
    description: '',
    rules: '',
    ...optional(f, 'description', text),
    ...optional(f, 'rules', text),
    ...optional(fields(f.product, 'product'), 'texts', parseProductTexts),
  }
}

export function parseAddress(value: unknown): Address {
  const f = fields(value, 'address')
  return { name: text(f, 'name'), phone: text(f, 'phone'), text: text(f, 'text') }
}

export function parseOrder(value: unknown): Order {
  const f = fields(value, 'order')
  return {
    id: id(f, 'id'),
    sale: id(f, 'sale'),
    product_name: text(f, 'product_name'),
    qty: number(f, 'qty'),
    price_fen: number(f, 'price_fen'),
    amount_fen: number(f, 'amount_fen'),
    state: stateOf(f),
    ticket: number(f, 'ticket'),
    rev: number(f, 'rev'),
    created_at: number(f, 'created_at'),
    ...optional(f, 'reason', text),
    // A node of an earlier version sends only `pay_by`, which is up to ten seconds later.
    ...optional({ pay_until: f.pay_until ?? (f.state === 'pending' ? f.pay_by : 0) }, 'pay_until', number),
    ...optional(f, 'paid_at', number),
    ...optional(f, 'cancelled_at', number),
    ...optional(f, 'tracking', text),
    ...optional(f, 'address', (o, name) => parseAddress(o[name])),
  }
}

function parseReservation(value: unknown): Reservation {
  const f = fields(value, 'reservation')
  return {
    order: id(f, 'order'),
    sale: id(f, 'sale'),
    qty: number(f, 'qty'),
    key: text(f, 'key'),
    ticket: number(f, 'ticket'),
    created_at: number(f, 'created_at'),
  }
}

export function parseUser(value: unknown): User {
  const f = fields(value, 'user')
  return { id: id(f, 'id'), name: f.name === undefined ? '' : text(f, 'name') }
}

function parsePersonal(value: unknown): PersonalEvent {
  const f = fields(value, 'event')
  return { ev: 'order', cursor: text(f, 'cursor'), key: text(f, 'key'), order: parseOrder(f.order) }
}

/** The missed events. If one of them is unreadable, `incomplete` is true, and the page must read the orders instead. */
function parseMissed(f: Fields): { missed: PersonalEvent[]; incomplete: boolean } {
  const known = list(f, 'missed', (value) => value).filter(
    (value) => (value as Fields | null)?.ev === 'order',
  )
  const missed = readable({ known }, 'known', parsePersonal)
  return { missed, incomplete: missed.length < known.length }
}

function parseWelcome(value: unknown): Welcome {
  const f = fields(value, 'hello')
  const { missed, incomplete } = parseMissed(f)
  return {
    now: number(f, 'now'),
    cursor: f.cursor === undefined ? '' : text(f, 'cursor'),
    missed,
    reset: f.reset === true || incomplete,
    reservations: readable(f, 'reservations', parseReservation),
    ...(f.user === undefined || f.user === null ? {} : { user: parseUser(f.user) }),
  }
}

function parseWatch(value: unknown): WatchView {
  const f = fields(value, 'watch')
  return { slots: readable(f, 'slots', parseSlot), sales: readable(f, 'sales', parseSale) }
}

function parseReceipt(value: unknown): Receipt {
  const f = fields(value, 'receipt')
  return {
    order: id(f, 'order'),
    ticket: number(f, 'ticket'),
    place: number(f, 'place'),
    state: stateOf(f),
  }
}

function parseOrders(value: unknown): OrderPage {
  const f = fields(value, 'orders')
  return { orders: readable(f, 'orders', parseOrder), more: f.more === true }
}

function parseTime(value: unknown): OpReplies['time'] {
  const f = fields(value, 'time')
  return { t0: number(f, 't0'), now: number(f, 'now') }
}

function parsePayment(value: unknown): Payment {
  const f = fields(value, 'pay')
  return {
    ...optional(f, 'url', text),
    ...optional(f, 'order_string', text),
    ...optional(f, 'qr', text),
  }
}

/** A picture inside a reply; only PNG is allowed. */
export function parsePicture(f: Fields): string {
  const image = text(f, 'image')
  if (!image.startsWith('data:image/png;base64,')) throw new Malformed('image is not a PNG')
  return image
}

function parseChallenge(value: unknown): Challenge {
  const f = fields(value, 'challenge')
  const until = number(f, 'until')
  switch (f.kind) {
    case 'work':
      return { kind: 'work', id: text(f, 'id'), text: text(f, 'text'), bits: number(f, 'bits'), until }
    case 'captcha':
      return { kind: 'captcha', id: text(f, 'id'), image: parsePicture(f), until }
    default:
      throw new Malformed('a challenge of an unknown kind')
  }
}

function parseBuyPass(value: unknown): BuyPass {
  const f = fields(value, 'pass')
  return { pass: text(f, 'pass'), until: number(f, 'until') }
}

function parsePassResult(value: unknown): PassResult {
  const { challenge } = fields(value, 'pass')
  return challenge ? { challenge: parseChallenge(challenge) } : parseBuyPass(value)
}

const replyParsers: { [O in Op]: (ok: unknown) => OpReplies[O] } = {
  hello: parseWelcome,
  time: parseTime,
  watch: parseWatch,
  buy: parseReceipt,
  cancel: (ok) => ({ state: stateOf(fields(ok, 'cancel')) }),
  pay: parsePayment,
  address: (ok) => ({ state: stateOf(fields(ok, 'address')) }),
  refund: (ok) => ({ state: stateOf(fields(ok, 'refund')) }),
  orders: parseOrders,
  pass: parsePassResult,
  solve: parseBuyPass,
  renew: (ok) => ok,
  unwatch: (ok) => ok,
  seen: (ok) => ok,
  board: (ok) => ok,
}

/** Parses the `ok` field of a reply to the given op. */
export function parseReply<O extends Op>(op: O, ok: unknown): OpReplies[O] {
  return replyParsers[op](ok)
}

/** Parses an error object; an unknown code becomes `internal`. */
export function parseRefusal(value: unknown): Refusal {
  const f = fields(value, 'error')
  const code = ERROR_CODES.find((known) => known === f.code) ?? 'internal'
  return {
    code,
    message: typeof f.message === 'string' ? f.message : '',
    retry_ms: numberOr(f, 'retry_ms', 0),
    orders: readable(f, 'orders', (item) => {
      const order = fields(item, 'order')
      return { id: id(order, 'id'), state: stateOf(order) }
    }),
  }
}

function parseEvent(f: Fields): ServerEvent | undefined {
  switch (f.ev) {
    case 'tick':
      return {
        ev: 'tick',
        now: number(f, 'now'),
        sales: readable(f, 'sales', (item) => {
          const line = fields(item, 'tick')
          return { id: id(line, 'id'), ...counters(line) }
        }),
      }
    case 'slot':
      return { ev: 'slot', slot: parseSlot({ ...f, id: f.slot }) }
    case 'sale':
      return { ev: 'sale', sale: parseSale(f.sale) }
    case 'order':
      return parsePersonal(f)
    case 'notice':
      return {
        ...{ ev: 'notice', level: text(f, 'level'), text: text(f, 'text'), texts: parseTexts(f.texts) },
        ...optional(f, 'until', number),
      }
    case 'bye':
      return { ev: 'bye', code: numberOr(f, 'code', 0), retry_ms: numberOr(f, 'retry_ms', 0) }
    default:
      return undefined
  }
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
  const f = fields(value, 'frame')
  if (f.ev !== undefined) {
    const event = parseEvent(f)
    return event ? { kind: 'event', event } : { kind: 'unknown', event: f }
  }
  const frameId = number(f, 'id')
  if (f.error !== undefined) return { kind: 'error', id: frameId, error: parseRefusal(f.error) }
  return { kind: 'ok', id: frameId, ok: f.ok }
}
