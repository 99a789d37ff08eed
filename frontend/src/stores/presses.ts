import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import type { Press } from '../checkout/press'
import { ERROR_CODES, type ErrorCode } from '../protocol/types'
import { Malformed, parseAddress } from '../protocol/parse'
import { keep, onKept, recallAll } from '../storage'
import { asReadonly } from './readonly'

/** A press that is older is not repeated after a reload: the shopper has long looked elsewhere. */
const MAX_AGE_MS = 5 * 60_000
/** Each press is a value of its own in the store, so that tabs do not overwrite each other's. */
const FAMILY = 'press.'

/**
 * What became of a press, to be told until it is read. `ordered` is told only when it was long in doubt; `undone` is
 * a reservation that became no order, `late` was not answered in time and is not repeated, `foreign` was pressed by
 * a guest whom this browser is no more.
 */
export type Ending =
  | { kind: 'refused'; code: ErrorCode }
  | { kind: 'ordered' }
  | { kind: 'undone'; reason: string }
  | { kind: 'late' }
  | { kind: 'foreign' }

/** A press, open until it has an ending. */
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
 * Presses of Buy whose outcome is not known yet, and those whose outcome was not read yet. Both outlive the page, and
 * are the same in all tabs: only its key finds out what became of a press, and only its words tell the shopper.
 */
export const usePresses = defineStore('presses', () => {
  const kept = shallowRef<readonly StoredPress[]>([])
  /** Keys of presses that had to be repeated. */
  const repeated = ref(new Set<string>())
  const open = computed(() => kept.value.filter((press) => !press.ending))
  const ended = computed(() => kept.value.filter((press) => press.ending))

  /** Keys of presses that only this page knows, because the store took nothing. */
  const unstored = new Set<string>()

  /** Takes what the tabs of this browser have stored. */
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

  /** Forgets a press: its outcome is plain to see, or was read. */
  function forget(key: string): void {
    kept.value = kept.value.filter((press) => press.key !== key)
    repeated.value.delete(key)
    unstored.delete(key)
    keep(FAMILY + key, undefined)
  }

  /** Begins a press; who presses again has read why the last one failed. */
  function begin(press: Press): void {
    ended.value.filter(({ sale }) => sale === press.sale).forEach(({ key }) => forget(key))
    put(press)
  }

  /** Ends a press, with words when there is something to tell. */
  function end(press: Press, ending?: Ending): void {
    repeated.value.delete(press.key)
    if (ending) put({ ...press, ending })
    else forget(press.key)
  }

  /** The press had no answer yet, and is asked for again. */
  function repeat(key: string): void {
    repeated.value.add(key)
  }

  /** The press under way on a sale: one at a time. */
  function onSale(sale: string): StoredPress | undefined {
    return open.value.find((press) => press.sale === sale)
  }

  function isOpen(key: string): boolean {
    return open.value.some((press) => press.key === key)
  }

  /** Presses of this user that are open; those that are not to be repeated any more end with words. */
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
