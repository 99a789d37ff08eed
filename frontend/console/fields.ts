// Readers for fields of wire data. A field of the wrong type throws a Malformed with its name.
import { Malformed } from '../src/protocol/fields'

export { Malformed }

export type Fields = Record<string, unknown>

export function fields(value: unknown, label: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Malformed(`${label} is not an object`)
  }
  return value as Fields
}

export function list<T>(f: Fields, name: string, item: (value: unknown) => T): T[] {
  const value = f[name]
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new Malformed(`${name} is not a list`)
  return value.map(item)
}

/** The items of a list that can be parsed; others are skipped. */
export function readable<T>(f: Fields, name: string, item: (value: unknown) => T): T[] {
  return list(f, name, (value) => value).flatMap((value) => {
    try {
      return [item(value)]
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn(`left out an item of ${name}: ${error.message}`)
      return []
    }
  })
}

export function text(f: Fields, name: string): string {
  const value = f[name]
  if (typeof value !== 'string') throw new Malformed(`${name} is not a string`)
  return value
}

export function id(f: Fields, name: string): string {
  const value = text(f, name)
  if (!/^\d{1,19}$/.test(value)) throw new Malformed(`${name} is not an id`)
  return value
}

export function number(f: Fields, name: string): number {
  const value = f[name]
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Malformed(`${name} is not a number`)
  return value
}

export function numberOr(f: Fields, name: string, fallback: number): number {
  return f[name] === undefined ? fallback : number(f, name)
}

/** Reads an optional field. 0 and "" also count as absent, because Go writes them for unset fields. */
export function optional<K extends string, T>(
  f: Fields,
  name: K,
  read: (f: Fields, name: K) => T,
): Partial<Record<K, T>> {
  const value = f[name]
  if (value === undefined || value === null || value === 0 || value === '') return {}
  return { [name]: read(f, name) } as Partial<Record<K, T>>
}
