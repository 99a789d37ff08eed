import { yuan } from '../../src/format/money'

/** One thing that differs, in words. */
export interface Change {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** How a field is shown that is not there, or empty. */
export const NOTHING = '–'

type Known = Record<string, unknown>

function asFields(value: unknown): Known | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Known) : undefined
}

type Tell = (at: number) => string

/**
 * What differs between two objects, field by field; fields within fields are named like `product.name`. `instant` tells
 * a time; without it times stay the numbers that they are.
 */
export function changesOf(before: unknown, after: unknown, instant: Tell = String): Change[] {
  return walk('', before, after, instant)
}

function walk(name: string, before: unknown, after: unknown, instant: Tell): Change[] {
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

/** A value as people read it: instants and money by the ends of their names. */
export function shown(name: string, value: unknown, instant: Tell): string {
  if (value === undefined || value === null || value === '') return NOTHING
  if (typeof value === 'number' && name.endsWith('_fen')) return yuan(value)
  if (typeof value === 'number' && /(_at|until)$/.test(name)) return value === 0 ? NOTHING : instant(value)
  if (typeof value === 'string') return value
  return JSON.stringify(value)
}
