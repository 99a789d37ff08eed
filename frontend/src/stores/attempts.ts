import { computed, ref, shallowRef } from 'vue'
import type { Attempt } from '../checkout/attempt'
import { ERROR_CODES, type ErrorCode } from '../protocol/types'
import { Malformed, parseAddress } from '../protocol/parse'
import { writeStored, onStoreChange, readAllStored } from '../storage'
import { defineStore } from './define'
import { asReadonly } from './readonly'

/**
 * Maximum age, in milliseconds, at which an attempt is repeated after a reload; later the shopper no longer expects it.
 */
const MAX_AGE_MS = 5 * 60_000
/** Each attempt is a separate value in the store, so that tabs do not overwrite each other's attempts. */
const PREFIX = 'press.'

/**
 * The outcome of an attempt, shown until it is dismissed. `ordered`: the attempt succeeded after a long wait. `undone`:
 * the reservation did not become an order. `late`: no reply arrived in time, and the attempt is not repeated any
 * longer. `foreign`: the attempt of a user who is no longer signed in.
 */
export type Ending =
  | { kind: 'refused'; code: ErrorCode }
  | { kind: 'ordered' }
  | { kind: 'undone'; reason: string }
  | { kind: 'late' }
  | { kind: 'foreign' }

/** An attempt; it is open until it has an ending. */
export interface StoredAttempt extends Attempt {
  ending?: Ending
}

function parseEnding(value: unknown): Ending {
  const { kind, code, reason } = value as Record<string, unknown>
  switch (kind) {
    case 'refused':
      return { kind, code: ERROR_CODES.find((known) => known === code) ?? 'internal' }
    case 'undone':
      return { kind, reason: typeof reason === 'string' ? reason : '' }
    case 'ordered':
    case 'late':
    case 'foreign':
      return { kind }
    default:
      throw new Malformed('ending')
  }
}

function parseAttempt(value: unknown): StoredAttempt {
  const { key, user, sale, qty, product, address, pressedAt, ending } = value as Record<string, unknown>
  if (typeof key !== 'string' || typeof user !== 'string' || typeof sale !== 'string')
    throw new Malformed('attempt')
  if (typeof qty !== 'number' || typeof pressedAt !== 'number') throw new Malformed('attempt')
  return {
    key,
    user,
    sale,
    qty,
    pressedAt,
    product: typeof product === 'string' ? product : '',
    ...(address === undefined ? {} : { address: parseAddress(address) }),
    ...(ending === undefined ? {} : { ending: parseEnding(ending) }),
  }
}

/**
 * Buy attempts with an unknown outcome, and those whose outcome was not dismissed yet. They survive the page and are
 * shared by all tabs, because only the key can find the outcome.
 */
export const useAttempts = defineStore('attempts', () => {
  const all = shallowRef<readonly StoredAttempt[]>([])
  /** Keys of attempts that had to be repeated. */
  const repeated = ref(new Set<string>())
  const open = computed(() => all.value.filter((attempt) => !attempt.ending))
  const ended = computed(() => all.value.filter((attempt) => attempt.ending))

  /** Keys of attempts that only this page holds, because the store rejected them. */
  const unstored = new Set<string>()

  /** Reads the attempts from the store, which all tabs share. */
  function read(): void {
    all.value = readAllStored(PREFIX, parseAttempt)
      .concat(all.value.filter(({ key }) => unstored.has(key)))
      .sort((a, b) => a.pressedAt - b.pressedAt)
  }

  function save(attempt: StoredAttempt): void {
    all.value = [...all.value.filter((other) => other.key !== attempt.key), attempt]
    if (writeStored(PREFIX + attempt.key, attempt)) unstored.delete(attempt.key)
    else unstored.add(attempt.key)
  }

  /** Deletes an attempt whose outcome is visible or was dismissed. */
  function remove(key: string): void {
    all.value = all.value.filter((attempt) => attempt.key !== key)
    repeated.value.delete(key)
    unstored.delete(key)
    writeStored(PREFIX + key, undefined)
  }

  /** Starts an attempt. It dismisses earlier outcomes of the sale. */
  function begin(attempt: Attempt): void {
    ended.value.filter(({ sale }) => sale === attempt.sale).forEach(({ key }) => remove(key))
    save(attempt)
  }

  /** Ends an attempt; `ending` is its message, if it needs one. */
  function end(attempt: Attempt, ending?: Ending): void {
    repeated.value.delete(attempt.key)
    if (ending) save({ ...attempt, ending })
    else remove(attempt.key)
  }

  /** The attempt had no reply and is repeated. */
  function repeat(key: string): void {
    repeated.value.add(key)
  }

  /** The pending attempt in a sale; at most one exists. */
  function onSale(sale: string): StoredAttempt | undefined {
    return open.value.find((attempt) => attempt.sale === sale)
  }

  function isOpen(key: string): boolean {
    return open.value.some((attempt) => attempt.key === key)
  }

  /** The open attempts of this user. Attempts of others end as `foreign`, those too old to repeat as `late`. */
  function inherit(user: string, now: number): Attempt[] {
    for (const attempt of open.value) {
      if (attempt.user !== user) end(attempt, { kind: 'foreign' })
      else if (now - attempt.pressedAt > MAX_AGE_MS) end(attempt, { kind: 'late' })
    }
    return open.value
  }

  read()
  onStoreChange(PREFIX, read)

  return {
    all: asReadonly(all),
    open,
    ended,
    repeated: asReadonly(repeated),
    begin,
    repeat,
    end,
    remove,
    onSale,
    isOpen,
    inherit,
  }
})
