import { fields, id, list, number, numberOr, optional, text } from '../fields'

/** One second or minute of a sale; `at` is its start. */
export interface SpeedPoint {
  readonly at: number
  readonly orders: number
  readonly units: number
}

/** The median and the 99th percentile of a waiting time. */
export interface Waits {
  readonly orders: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/** Number of orders by state and reason. */
export interface OrderCount {
  readonly state: string
  readonly reason: string
  readonly orders: number
  readonly units: number
  readonly amount_fen: number
}

/** One side of the stock equation: initial + added = stock + held + sold + withdrawn. */
export interface Side {
  readonly initial: number
  readonly added: number
  readonly stock: number
  readonly held: number
  readonly sold: number
  readonly withdrawn: number
}

/** Buy attempts that one layer rejected with one code. */
export interface Rejection {
  readonly layer: string
  readonly code: string
  readonly buys: number
}

/** Counters of the nodes for buy attempts. */
export interface Attempts {
  readonly attempts: number
  readonly reserved: number
  readonly rejected: readonly Rejection[]
  /** From the buy attempt to the order event. */
  readonly to_order?: Waits
}

/** The report of a sale. */
export interface SaleReport {
  readonly sale: string
  readonly product: string
  readonly price_fen: number
  readonly opens_at: number
  readonly closes_at: number
  readonly at: number
  readonly seconds: readonly SpeedPoint[]
  readonly minutes: readonly SpeedPoint[]
  /** Maximum orders per second in the first two minutes. */
  readonly peak: number
  readonly to_pay?: Waits
  readonly buys?: Attempts
  readonly states: readonly OrderCount[]
  readonly money: {
    readonly paid_fen: number
    readonly refunded_fen: number
    readonly refunding_fen: number
    readonly net_fen: number
  }
  readonly balance: {
    readonly redis: Side
    readonly database: Side
    /** Redis holds the sale; otherwise the Redis side is invalid. */
    readonly loaded: boolean
    readonly waiting: number
    readonly failures: readonly string[]
  }
}

function parsePoint(value: unknown): SpeedPoint {
  const f = fields(value, 'point')
  return { at: number(f, 'at'), orders: number(f, 'orders'), units: number(f, 'units') }
}

function parseWaits(value: unknown): Waits {
  const f = fields(value, 'waits')
  return { orders: number(f, 'orders'), p50_ms: number(f, 'p50_ms'), p99_ms: number(f, 'p99_ms') }
}

function parseSide(value: unknown): Side {
  const f = fields(value, 'side')
  return {
    initial: number(f, 'initial'),
    added: number(f, 'added'),
    stock: number(f, 'stock'),
    held: number(f, 'held'),
    sold: number(f, 'sold'),
    withdrawn: number(f, 'withdrawn'),
  }
}

function parseAttempts(value: unknown): Attempts {
  const f = fields(value, 'buys')
  return {
    attempts: number(f, 'attempts'),
    reserved: number(f, 'reserved'),
    rejected: list(f, 'rejected', (item) => {
      const t = fields(item, 'rejected')
      return { layer: text(t, 'layer'), code: text(t, 'code'), buys: number(t, 'buys') }
    }),
    ...optional(f, 'to_order', (o, name) => parseWaits(o[name])),
  }
}

export function parseSaleReport(value: unknown): SaleReport {
  const f = fields(value, 'report')
  const speed = fields(f.speed, 'speed')
  const money = fields(f.money, 'money')
  const balance = fields(f.balance, 'balance')
  return {
    sale: id(f, 'sale'),
    product: text(f, 'product'),
    price_fen: number(f, 'price_fen'),
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    at: number(f, 'at'),
    seconds: list(speed, 'seconds', parsePoint),
    minutes: list(speed, 'minutes', parsePoint),
    peak: numberOr(speed, 'peak', 0),
    ...optional(f, 'to_pay', (o, name) => parseWaits(o[name])),
    ...optional(f, 'buys', (o, name) => parseAttempts(o[name])),
    states: list(f, 'states', (item) => {
      const s = fields(item, 'state')
      return {
        state: text(s, 'state'),
        reason: typeof s.reason === 'string' ? s.reason : '',
        orders: number(s, 'orders'),
        units: number(s, 'units'),
        amount_fen: number(s, 'amount_fen'),
      }
    }),
    money: {
      paid_fen: number(money, 'paid_fen'),
      refunded_fen: number(money, 'refunded_fen'),
      refunding_fen: number(money, 'refunding_fen'),
      net_fen: number(money, 'net_fen'),
    },
    balance: {
      redis: parseSide(balance.redis),
      database: parseSide(balance.database),
      loaded: balance.loaded === true,
      waiting: numberOr(balance, 'waiting', 0),
      failures: list(balance, 'failures', String),
    },
  }
}
