import type { ConsoleWords } from './words'

type Units = ConsoleWords['units']

/** A number for display: grouped thousands, and one decimal if it is small. */
export function figure(n: number): string {
  const digits = Math.abs(n) < 10 && !Number.isInteger(n) ? 1 : 0
  return n.toLocaleString('en', { maximumFractionDigits: digits })
}

/** A duration in its largest fitting unit. */
export function lapse(ms: number, units: Units): string {
  if (ms < 1_000) return units.millis(String(Math.round(ms)))
  const s = ms / 1_000
  if (s < 90) return units.seconds(s < 10 ? s.toFixed(1) : String(Math.round(s)))
  if (s < 90 * 60) return units.minutes(String(Math.round(s / 60)))
  if (s < 36 * 3_600) return units.hours((s / 3_600).toFixed(s < 10 * 3_600 ? 1 : 0))
  return units.days(String(Math.round(s / 86_400)))
}

export function bytes(n: number): string {
  const mib = n / 2 ** 20
  return mib < 1_000 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`
}
