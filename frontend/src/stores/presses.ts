import { defineStore } from 'pinia'
import { ref } from 'vue'
import type { Press } from '../buying/press'
import { Malformed, parseAddress } from '../protocol/parse'
import type { Refusal } from '../protocol/types'
import { keep, recall } from '../storage'

/** A press that is older is not repeated after a reload: the shopper has long looked elsewhere. */
const MAX_AGE_MS = 5 * 60_000

function parsePress(value: unknown): Press {
  const { key, user, sale, qty, address, pressedAt } = value as Record<string, unknown>
  if (typeof key !== 'string' || typeof user !== 'string' || typeof sale !== 'string')
    throw new Malformed('press')
  if (typeof qty !== 'number' || typeof pressedAt !== 'number') throw new Malformed('press')
  return {
    key,
    user,
    sale,
    qty,
    pressedAt,
    ...(address === undefined ? {} : { address: parseAddress(address) }),
  }
}

function parsePresses(value: unknown): Press[] {
  return Array.isArray(value) ? value.map(parsePress) : []
}

/**
 * Presses of Buy whose outcome is not known yet, and the refusals that came of earlier ones. Open presses are
 * kept over a reload, because only their key finds out what became of them.
 */
export const usePresses = defineStore('presses', () => {
  const open = ref<Press[]>(recall('presses', parsePresses) ?? [])
  /** Keys of presses that had to be repeated. */
  const repeated = ref(new Set<string>())
  /** Why the last press on a sale failed, by sale. */
  const refusals = ref(new Map<string, Refusal>())

  function begin(press: Press): void {
    refusals.value.delete(press.sale)
    open.value = [...open.value, press]
    keep('presses', open.value)
  }

  function end(press: Press, refusal?: Refusal): void {
    open.value = open.value.filter((other) => other.key !== press.key)
    repeated.value.delete(press.key)
    if (refusal) refusals.value.set(press.sale, refusal)
    keep('presses', open.value.length > 0 ? open.value : undefined)
  }

  /** The press under way on a sale: one at a time. */
  function onSale(sale: string): Press | undefined {
    return open.value.find((press) => press.sale === sale)
  }

  /** Presses of this user that an earlier page left open; older and foreign ones are dropped. */
  function inherit(user: string, now: number): Press[] {
    for (const press of open.value) {
      if (press.user !== user || now - press.pressedAt > MAX_AGE_MS) end(press)
    }
    return open.value
  }

  return { open, repeated, refusals, begin, end, onSale, inherit }
})
