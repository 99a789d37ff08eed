// The live board's frames, sent once a second. They are parsed from `unknown` like all wire data.
import { fields, id, list, number, numberOr, readable, text, type Fields } from '../fields'

export interface BoardSale {
  readonly id: string
  readonly name: string
  readonly phase: string
  readonly paused: boolean
  readonly stock: number
  readonly held: number
  readonly sold: number
  readonly initial: number
  readonly added: number
  readonly withdrawn: number
  readonly rate: number
  readonly watching: number
  readonly opens_at: number
  readonly closes_at: number
}

export interface BoardPartition {
  readonly p: number
  /** Entries not delivered yet, and entries delivered but not acknowledged. */
  readonly lag: number
  readonly pending: number
  readonly oldest_ms: number
  readonly dead: number
  readonly deadlines: number
  /** The partition's Redis does not respond; the other numbers are invalid. */
  readonly away: boolean
}

export interface BoardNode {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly roles: readonly string[]
  readonly sockets: number
  readonly users: number
  /** The leases that the node holds, and their end times. */
  readonly leases: readonly { readonly name: string; readonly until: number }[]
  readonly up_s: number
  /** `cpu`: number of processors in use; `heap`: bytes. */
  readonly cpu: number
  readonly heap: number
  /** Milliseconds since the last response of the database. */
  readonly database_ms: number
}

export interface Alarm {
  readonly name: string
  readonly since: number
  readonly message: string
  readonly do: string
  readonly link: string
}

export interface Quantiles {
  readonly p50: number
  readonly p99: number
}

/** The rates at one instant: a point of the charts. */
export interface Point {
  readonly at: number
  readonly buys_s: number
  readonly reserved_s: number
  readonly confirmed_s: number
  readonly rejected_s: number
  readonly latency_ms: Quantiles
  /** Entries that wait in all partitions. */
  readonly waiting: number
}

export interface BoardFrame extends Point {
  readonly refused: Readonly<Record<string, number>>
  readonly errors_s: number
  /** Confirmed orders per second of hidden sales. No other number includes them. */
  readonly hidden_s: number
  readonly sales: readonly BoardSale[]
  readonly partitions: readonly BoardPartition[]
  readonly nodes: readonly BoardNode[]
  readonly payments: { readonly open: number; readonly in_doubt: number; readonly refunds_stuck: number }
  readonly alarms: readonly Alarm[]
}

function parseSale(value: unknown): BoardSale {
  const f = fields(value, 'sale')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    phase: text(f, 'phase'),
    paused: f.paused === true,
    stock: number(f, 'stock'),
    held: number(f, 'held'),
    sold: number(f, 'sold'),
    initial: number(f, 'initial'),
    added: numberOr(f, 'added', 0),
    withdrawn: numberOr(f, 'withdrawn', 0),
    rate: numberOr(f, 'rate', 0),
    watching: numberOr(f, 'watching', 0),
    opens_at: numberOr(f, 'opens_at', 0),
    closes_at: numberOr(f, 'closes_at', 0),
  }
}

function parsePartition(value: unknown): BoardPartition {
  const f = fields(value, 'partition')
  return {
    p: number(f, 'p'),
    lag: number(f, 'lag'),
    pending: number(f, 'pending'),
    oldest_ms: numberOr(f, 'oldest_ms', 0),
    dead: numberOr(f, 'dead', 0),
    deadlines: numberOr(f, 'deadlines', 0),
    away: f['away'] === true,
  }
}

function parseNode(value: unknown): BoardNode {
  const f = fields(value, 'node')
  return {
    id: String(number(f, 'id')),
    name: typeof f.name === 'string' ? f.name : '',
    version: typeof f.version === 'string' ? f.version : '',
    roles: list(f, 'roles', String),
    sockets: numberOr(f, 'sockets', 0),
    users: numberOr(f, 'users', 0),
    leases: readable(f, 'leases', (value) => {
      const lease = fields(value, 'lease')
      return { name: text(lease, 'name'), until: number(lease, 'until') }
    }),
    up_s: numberOr(f, 'up_s', 0),
    cpu: numberOr(f, 'cpu', 0),
    heap: numberOr(f, 'heap', 0),
    database_ms: numberOr(f, 'database_ms', 0),
  }
}

function parseAlarm(value: unknown): Alarm {
  const f = fields(value, 'alarm')
  return {
    name: text(f, 'name'),
    since: numberOr(f, 'since', 0),
    message: text(f, 'message'),
    do: typeof f.do === 'string' ? f.do : '',
    link: typeof f.link === 'string' ? f.link : '',
  }
}

function quantiles(value: unknown): Quantiles {
  const f = fields(value ?? {}, 'latency_ms')
  return { p50: numberOr(f, 'p50', 0), p99: numberOr(f, 'p99', 0) }
}

function byCode(value: unknown): Record<string, number> {
  const f = fields(value ?? {}, 'rejected_s')
  return Object.fromEntries(Object.keys(f).map((code) => [code, number(f, code)]))
}

function sum(of: Readonly<Record<string, number>>): number {
  return Object.values(of).reduce((total, n) => total + n, 0)
}

export function parsePoint(value: unknown): Point {
  const f = fields(value, 'point')
  const lags = list(f, 'lags', Number).reduce((total, lag) => total + lag, 0)
  return { ...ratesOf(f), at: number(f, 'at'), waiting: lags + numberOr(f, 'pending', 0) }
}

function ratesOf(f: Fields): Omit<Point, 'at' | 'waiting'> {
  return {
    buys_s: numberOr(f, 'buys_s', 0),
    reserved_s: numberOr(f, 'reserved_s', 0),
    confirmed_s: numberOr(f, 'confirmed_s', 0),
    rejected_s: sum(byCode(f.rejected_s)),
    latency_ms: quantiles(f.latency_ms),
  }
}

export function parseBoard(value: unknown): BoardFrame {
  const f = fields(value, 'board')
  const partitions = readable(f, 'partitions', parsePartition)
  const payments = fields(f.payments ?? {}, 'payments')
  return {
    ...ratesOf(f),
    at: number(f, 'now'),
    waiting: partitions.reduce((total, { lag, pending }) => total + lag + pending, 0),
    refused: byCode(f.rejected_s),
    errors_s: numberOr(f, 'errors_s', 0),
    hidden_s: numberOr(f, 'hidden_s', 0),
    sales: readable(f, 'sales', parseSale),
    partitions,
    nodes: readable(f, 'nodes', parseNode),
    payments: {
      open: numberOr(payments, 'open', 0),
      in_doubt: numberOr(payments, 'in_doubt', 0),
      refunds_stuck: numberOr(payments, 'refunds_stuck', 0),
    },
    alarms: readable(f, 'alarms', parseAlarm),
  }
}
