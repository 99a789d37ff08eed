// What the pages of a report draw, made of its numbers.
import type { Fate, Side, SpeedPoint } from './types'

/** Columns of a chart: an instant and a number for each, none left out. */
export interface Columns {
  /** How long a column is. */
  readonly each: number
  readonly at: number[]
  readonly orders: number[]
}

/** More columns than this are too narrow to be seen. */
const MOST_COLUMNS = 240

/**
 * Puts points on an even grid from `from` to `to`, with zeros where nothing was. A grid that would have too many columns
 * gets wider ones, each with the sum of what falls into it.
 */
export function columns(points: readonly SpeedPoint[], from: number, to: number, step: number): Columns {
  const wide = step * Math.max(1, Math.ceil((to - from) / step / MOST_COLUMNS))
  const first = from - (from % step)
  const count = Math.max(1, Math.ceil((to - first) / wide))
  const at = Array.from({ length: count }, (_, i) => first + i * wide)
  const orders = new Array<number>(count).fill(0)
  for (const point of points) {
    const i = Math.floor((point.at - first) / wide)
    if (i >= 0 && i < count) orders[i] = (orders[i] ?? 0) + point.orders
  }
  return { each: wide, at, orders }
}

/** What came in, and where it is. */
export const cameIn = (s: Side): number => s.initial + s.added
export const isNow = (s: Side): number => s.stock + s.held + s.sold + s.withdrawn

/** The parts of a side from the bottom up, in the order in which they are drawn. */
export const PARTS = ['sold', 'held', 'stock', 'withdrawn'] as const
export type Part = (typeof PARTS)[number]

export interface Layer {
  readonly part: Part
  readonly units: number
  readonly y: number
  readonly height: number
}

/** Stacks a side upwards from `bottom`; what is not nothing is at least a hair high. */
export function stack(side: Side, most: number, bottom: number, height: number): Layer[] {
  let y = bottom
  return PARTS.filter((part) => side[part] > 0).map((part) => {
    const units = side[part]
    const tall = Math.max(2, (units / Math.max(1, most)) * height)
    y -= tall
    return { part, units, y, height: tall }
  })
}

/** The steepest that the beam of the balance hangs, degrees. */
const STEEPEST = 5

/**
 * How the beam hangs: level while both sides hold the same free units and each is in balance; otherwise the heavier side
 * is lower, and a small difference is seen, too.
 */
export function tilt(redis: Side, database: Side): number {
  const left = isNow(redis) + Math.abs(cameIn(redis) - isNow(redis))
  const right = isNow(database) + Math.abs(cameIn(database) - isNow(database))
  const apart = right - left || database.stock - redis.stock
  if (apart === 0) return 0
  const share = Math.abs(apart) / Math.max(1, left, right)
  return Math.sign(apart) * Math.min(STEEPEST, 1.5 + share * 20)
}

/** Fates with what is over last, the largest first among those of a kind. */
export function sorted(fates: readonly Fate[]): Fate[] {
  const good = ['paid', 'shipped', 'finished', 'pending']
  const rank = (f: Fate): number => (good.includes(f.state) ? 0 : 1)
  return [...fates].sort((a, b) => rank(a) - rank(b) || b.orders - a.orders)
}

/** A share as whole per cent; what is not nothing is never 0 %. */
export function share(n: number, of: number): string {
  if (n === 0 || of === 0) return '0 %'
  const part = (100 * n) / of
  return part < 1 ? '< 1 %' : `${String(Math.round(part))} %`
}
