import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { compareIds } from '../format/ids'
import type { Sale, TickLine } from '../protocol/types'
import { asReadonly } from './readonly'
import { useSlots } from './slots'

/** The sales that were told by snapshots, with their numbers of this moment. */
export const useSales = defineStore('sales', () => {
  const slots = useSlots()
  const byId = ref(new Map<string, Sale>())
  const sales = asReadonly(byId)
  /** Slots whose sales were read on this connection or an earlier one. */
  const readSlots = ref(new Set<string>())

  /** The sales of the shown slot; undefined while they are still to come. */
  const shown = computed(() => {
    const slot = slots.shown
    if (!slot || !readSlots.value.has(slot.id)) return undefined
    return ofSlot(slot.id).sort((a, b) => compareIds(a.id, b.id))
  })

  /**
   * Takes the snapshot of a slot. What it no longer holds is gone; while the slot is on show it stays, closed, because
   * the cards behind it would move under the finger.
   */
  function replaceSlot(slot: string, fresh: readonly Sale[]): void {
    const kept = new Set(fresh.map((sale) => sale.id))
    for (const sale of ofSlot(slot)) {
      if (kept.has(sale.id)) continue
      if (slot === slots.shown?.id) change({ ...sale, phase: 'closed' })
      else byId.value.delete(sale.id)
    }
    fresh.forEach(change)
    readSlots.value.add(slot)
  }

  /** Takes the word of the server that it has no such slot: its sales are over. */
  function endSlot(slot: string): void {
    for (const sale of ofSlot(slot)) change({ ...sale, phase: 'closed' })
  }

  function ofSlot(slot: string): Sale[] {
    return [...sales.value.values()].filter((sale) => sale.slot === slot)
  }

  function change(sale: Sale): void {
    byId.value.set(sale.id, sale)
  }

  /**
   * Takes the newest numbers; a tick may name a sale that is no longer watched. They are written into the sale, so that
   * only what shows a number is drawn again.
   */
  function tick(lines: readonly TickLine[]): void {
    for (const { id, ...counters } of lines) {
      const sale = byId.value.get(id)
      if (sale) Object.assign(sale, counters)
    }
  }

  return { byId: sales, readSlots: asReadonly(readSlots), shown, replaceSlot, endSlot, change, tick }
})
