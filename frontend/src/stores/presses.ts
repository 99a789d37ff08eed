import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import type { Press } from '../checkout/press'
import { ERROR_CODES, type ErrorCode } from '../protocol/types'
import { Malformed, parseAddress } from '../protocol/parse'
import { keep, onKept, recallAll } from '../storage'
import { asReadonly } from './readonly'

/**
 * Maximum age, in milliseconds, at which an attempt is repeated after a reload; later the shopper no longer expects it.
 */
const MAX_AGE_MS = 5 * 60_000
/** Each attempt is a separate value in the store, so that tabs do not overwrite each other's attempts. */
const FAMILY = 'press.'

/**
 * The outcome of an attempt, shown until it is dismissed. `ordered`: shown only after a long doubt. `undone`: the
 * reservation became no order. `late`: no reply in time, and no further repeat. `foreign`: the attempt of a guest who
 * is no longer signed in.
 */
export type Ending =
  | { kind: 'refused'; code: ErrorCode }
  | { kind: 'ordered' }
  | { kind: 'undone'; reason: string }
  | { kind: 'late' }
  | { kind: 'foreign' }

/** An attempt; it is open until it has an ending. */
export interface StoredPress extends Press {
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

function parsePress(value: unknown): StoredPress {
  const { key, user, sale, qty, product, address, pressedAt, ending } = value as Record<string, unknown>
  if (typeof key !== 'string' || typeof user !== 'string' || typeof sale !== 'string')
    throw new Malformed('press')
  if (typeof qty !== 'number' || typeof pressedAt !== 'number') throw new Malformed('press')
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
export const usePresses = defineStore('presses', () => {
  const kept = shallowRef<readonly StoredPress[]>([])
  /** Keys of attempts that had to be repeated. */
  const repeated = ref(new Set<string>())
  const open = computed(() => kept.value.filter((press) => !press.ending))
  const ended = computed(() => kept.value.filter((press) => press.ending))

  /** Keys of attempts that only this page holds, because the store rejected them. */
  const unstored = new Set<string>()

  /** Reads the attempts from the store, which all tabs share. */
  function read(): void {
    kept.value = recallAll(FAMILY, parsePress)
      .concat(kept.value.filter(({ key }) => unstored.has(key)))
      .sort((a, b) => a.pressedAt - b.pressedAt)
  }

  function put(press: StoredPress): void {
    kept.value = [...kept.value.filter((other) => other.key !== press.key), press]
    if (keep(FAMILY + press.key, press)) unstored.delete(press.key)
    else unstored.add(press.key)
  }

  /** Deletes an attempt whose outcome is visible or was dismissed. */
  function forget(key: string): void {
    kept.value = kept.value.filter((press) => press.key !== key)
    repeated.value.delete(key)
    unstored.delete(key)
    keep(FAMILY + key, undefined)
  }

  /** Starts an attempt. It dismisses earlier outcomes of the sale. */
  function begin(press: Press): void {
    ended.value.filter(({ sale }) => sale === press.sale).forEach(({ key }) => forget(key))
    put(press)
  }

  /** Ends an attempt; `ending` is its message, if it needs one. */
  function end(press: Press, ending?: Ending): void {
    repeated.value.delete(press.key)
    if (ending) put({ ...press, ending })
    else forget(press.key)
  }

  /** The attempt had no reply and is repeated. */
  function repeat(key: string): void {
    repeated.value.add(key)
  }

  /** The pending attempt in a sale; at most one exists. */
  function onSale(sale: string): StoredPress | undefined {
    return open.value.find((press) => press.sale === sale)
  }

  function isOpen(key: string): boolean {
    return open.value.some((press) => press.key === key)
  }

  /** The open attempts of this user. Attempts of others end as `foreign`, those too old to repeat as `late`. */
  function inherit(user: string, now: number): Press[] {
    for (const press of open.value) {
      if (press.user !== user) end(press, { kind: 'foreign' })
      else if (now - press.pressedAt > MAX_AGE_MS) end(press, { kind: 'late' })
    }
    return open.value
  }

  read()
  onKept(FAMILY, read)

  return {
    kept: asReadonly(kept),
    open,
    ended,
    repeated: asReadonly(repeated),
    begin,
    repeat,
    end,
    forget,
    onSale,
    isOpen,
    inherit,
  }
})
