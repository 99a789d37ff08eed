// Computes the charts and drawings of a report from its numbers.
import type { OrderCount, Side, SpeedPoint } from './types'

/** The columns of a chart without gaps: the start and the number of orders of each column. */
export interface Columns {
  /** The duration of a column, in milliseconds. */
  readonly columnMs: number
  readonly at: number[]
  readonly orders: number[]
}

/** More columns would be too narrow to see. */
const MAX_COLUMNS = 240

/**
 * Puts points on an even grid from `from` to `to`; gaps are zero. If the grid needs too many columns, their width
 * grows, and each one holds the sum of its points.
 */
export function columns(points: readonly SpeedPoint[], from: number, to: number, step: number): Columns {
  const columnMs = step * Math.max(1, Math.ceil((to - from) / step / MAX_COLUMNS))
  const first = from - (from % step)
  const count = Math.max(1, Math.ceil((to - first) / columnMs))
  const at = Array.from({ length: count }, (_, i) => first + i * columnMs)
  const orders = new Array<number>(count).fill(0)
  for (const point of points) {
    const i = Math.floor((point.at - first) / columnMs)
    if (i >= 0 && i < count) orders[i] = (orders[i] ?? 0) + point.orders
  }
  return { columnMs, at, orders }
}

/** The units of a side that entered the sale, and the units of all current states. */
export const totalIn = (s: Side): number => s.initial + s.added
export const currentTotal = (s: Side): number => s.stock + s.held + s.sold + s.withdrawn

/** The parts of a side in drawing order, from the bottom. */
export const PARTS = ['sold', 'held', 'stock', 'withdrawn'] as const
export type Part = (typeof PARTS)[number]

export interface Layer {
  readonly part: Part
  readonly units: number
  readonly y: number
  readonly height: number
}

/** Stacks the parts of a side upwards from `bottom`. A part that is not zero gets a minimum height. */
export function stack(side: Side, max: number, bottom: number, height: number): Layer[] {
  let y = bottom
  return PARTS.filter((part) => side[part] > 0).map((part) => {
    const units = side[part]
    const partHeight = Math.max(2, (units / Math.max(1, max)) * height)
    y -= partHeight
    return { part, units, y, height: partHeight }
  })
}

/** Maximum tilt of the beam, in degrees. */
const MAX_TILT = 5

/**
 * The tilt of the beam, in degrees. It is level if both sides have equal free units and each side is in balance;
 * otherwise the heavier side is lower. A small difference gets a visible minimum tilt.
 */
export function tilt(redis: Side, database: Side): number {
  const left = currentTotal(redis) + Math.abs(totalIn(redis) - currentTotal(redis))
  const right = currentTotal(database) + Math.abs(totalIn(database) - currentTotal(database))
  const difference = right - left || database.stock - redis.stock
  if (difference === 0) return 0
  const share = Math.abs(difference) / Math.max(1, left, right)
  return Math.sign(difference) * Math.min(MAX_TILT, 1.5 + share * 20)
}

/** Active and successful orders first, then the others; the largest count first within each group. */
export function sorted(counts: readonly OrderCount[]): OrderCount[] {
  const good = ['paid', 'shipped', 'finished', 'pending']
  const rank = (f: OrderCount): number => (good.includes(f.state) ? 0 : 1)
  return [...counts].sort((a, b) => rank(a) - rank(b) || b.orders - a.orders)
}

/** A share as whole per cent. A share above zero is never shown as 0 %. */
export function share(n: number, of: number): string {
  if (n === 0 || of === 0) return '0 %'
  const part = (100 * n) / of
  return part < 1 ? '< 1 %' : `${String(Math.round(part))} %`
}
