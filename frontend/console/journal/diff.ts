import { yuan } from '../../src/format/intl'

/** One difference, as text. */
export interface Change {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Shown for an absent or empty field. */
export const EMPTY = '–'

type Known = Record<string, unknown>

function asFields(value: unknown): Known | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Known) : undefined
}

type FormatInstant = (at: number) => string

/**
 * The differences between two objects, field by field; nested fields are named like `product.name`. `instant` formats
 * times; without it they stay numbers.
 */
export function changesOf(before: unknown, after: unknown, instant: FormatInstant = String): Change[] {
  return walk('', before, after, instant)
}

function walk(name: string, before: unknown, after: unknown, instant: FormatInstant): Change[] {
  const [was, is] = [asFields(before), asFields(after)]
  if (was || is) {
    const names = new Set([...Object.keys(was ?? {}), ...Object.keys(is ?? {})])
    return [...names].flatMap((field) =>
      walk(name ? `${name}.${field}` : field, was?.[field], is?.[field], instant),
    )
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  return [{ name, before: shown(name, before, instant), after: shown(name, after, instant) }]
}

/** A value for display. The suffix of the name marks instants and money. */
export function shown(name: string, value: unknown, instant: FormatInstant): string {
  if (value === undefined || value === null || value === '') return EMPTY
  if (typeof value === 'number' && name.endsWith('_fen')) return yuan(value)
  if (typeof value === 'number' && /(_at|until)$/.test(name)) return value === 0 ? EMPTY : instant(value)
  if (typeof value === 'string') return value
  return JSON.stringify(value)
}
