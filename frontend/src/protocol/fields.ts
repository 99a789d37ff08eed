// Building blocks of the schemas of wire data.
import * as v from 'valibot'

/** Wire data that violates the protocol. */
export class Malformed extends Error {
  override name = 'Malformed'
}

export type Schema<T> = v.GenericSchema<unknown, T>
type OptionalSchema<T> = v.ExactOptionalSchema<Schema<Exclude<T, undefined>>, undefined>
/** One schema per field of T: a field that is added, renamed or changed in the generated type is a type error. */
type Entries<T> = {
  [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? OptionalSchema<T[K]> : Schema<T[K]>
}

const firstOnly = { abortEarly: true }

function textOf([{ path, message }]: [v.BaseIssue<unknown>, ...unknown[]]): string {
  return `${path?.map(({ key }) => String(key)).join('.') ?? 'value'}: ${message}`
}

/** Parses wire data. Data that does not match the schema throws a Malformed that names the field. */
export function parse<T>(schema: Schema<T>, value: unknown): T {
  const { success, output, issues } = v.safeParse(schema, value, firstOnly)
  if (success) return output
  throw new Malformed(textOf(issues))
}

export const parser =
  <T>(schema: Schema<T>) =>
  (value: unknown): T =>
    parse(schema, value)

export const optional = <T>(schema: Schema<T>) => v.exactOptional(schema)

/** An object. Optional fields with 0, "", false or null count as absent, because Go writes them for unset fields. */
export function object<T>(entries: Entries<T>): Schema<T> {
  const schemas = entries as Record<string, v.GenericSchema>
  const required = (name: string): boolean => schemas[name]?.type !== 'exact_optional'
  const whole = v.object(schemas) as unknown as Schema<T>
  if (Object.keys(schemas).every(required)) return whole
  const withoutUnset = (value: unknown): unknown =>
    value && Object.fromEntries(Object.entries(value).filter(([name, field]) => field || required(name)))
  return v.pipe(v.unknown(), v.transform(withoutUnset), whole)
}

const anyList = v.nullish(v.array(v.unknown()), [])

/** The items of a list that can be parsed; others are skipped. A list that is missing or null is empty. */
export function list<T>(item: Schema<T>): Schema<T[]> {
  const readable = (value: unknown): T[] => {
    const { success, output, issues } = v.safeParse(item, value, firstOnly)
    if (success) return [output]
    console.warn(`left out an item of a list: ${textOf(issues)}`)
    return []
  }
  return v.pipe(
    anyList,
    v.transform((values) => values.flatMap(readable)),
  )
}

/** The values of an object with any names. */
export const record = <T>(schema: Schema<T>) => v.record(v.string(), schema)

export const text = v.string()
export const number = v.number()
export const flag = v.boolean()
export const id = v.pipe(text, v.regex(/^\d{1,19}$/))
/** A picture inside a reply; only PNG is allowed. */
export const png = v.pipe(text, v.regex(/^data:image\/png;base64,/))
