import { number, yuan } from '../../src/format/intl'
import type { ConsoleWords } from '../words'
import type { CheckWords, Value } from '../words/checks.en'
import { CHECK_STATES, type Check, type SaleRecord } from './types'

/** Checks that need an operator come first, otherwise in the order of the server. */
export function checksInOrder(checks: readonly Check[]): Check[] {
  const rank = ({ state }: Check): number => -CHECK_STATES.indexOf(state)
  return checks
    .map((check, i) => ({ check, i }))
    .sort((a, b) => rank(a.check) - rank(b.check) || a.i - b.i)
    .map(({ check }) => check)
}

/** The path of the page on which a check can be fixed (empty: the live board); undefined if no page can fix it. */
export function pageToFix(check: Check, sale: SaleRecord): string | undefined {
  if (check.state === 'ok') return undefined
  if (check.name === 'offer') return sale.paused ? `sales/${sale.id}` : `products/${sale.product.id}`
  if (check.name === 'stock' && sale.loaded) return `sales/${sale.id}`
  return ['backlog', 'partition'].includes(check.name) || check.name.startsWith('node') ? '' : undefined
}

/** A check as text, in the reader's language or in the server's English. */
export interface CheckText {
  readonly message: string
  readonly do: string
  readonly lang?: 'en'
}

/** The text for a finding. The action is included only if the server requests one. */
export function checkText(
  check: Check,
  known: Readonly<Record<string, CheckWords>>,
  duration: ConsoleWords['duration'],
): CheckText {
  const words = Object.hasOwn(known, check.code) ? known[check.code] : undefined
  if (!words) return { message: check.message, do: check.do, lang: 'en' }
  const of: Value = (name) => valueOf(name, check.values[name], duration)
  return { message: words.message(of), do: check.do ? (words.do?.(of) ?? check.do) : '' }
}

/** A value formatted by the suffix of its name. */
function valueOf(name: string, value: unknown, duration: ConsoleWords['duration']): string {
  if (typeof value === 'number') {
    if (name.endsWith('_fen')) return yuan(value)
    return name.endsWith('_ms') ? duration(value) : number(value)
  }
  return typeof value === 'string' ? value : '?'
}
