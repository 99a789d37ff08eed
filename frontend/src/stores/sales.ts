import { computed, ref } from 'vue'
import { compareIds } from '../format/ids'
import type { Sale, TickLine } from '../protocol/types'
import { defineStore } from './define'
import { asReadonly } from './readonly'
import { useSlots } from './slots'

/** The sales of the received snapshots, with their current numbers. */
export const useSales = defineStore('sales', () => {
  const slots = useSlots()
  const byId = ref(new Map<string, Sale>())
  const sales = asReadonly(byId)
  /** Slots whose sales were loaded on this or an earlier connection. */
  const readSlots = ref(new Set<string>())

  /** The sales of the displayed slot; undefined while loading. */
  const shown = computed(() => {
    const slot = slots.shown
    if (!slot || !readSlots.value.has(slot.id)) return undefined
    return ofSlot(slot.id).sort((a, b) => compareIds(a.id, b.id))
  })

  /**
   * Applies the snapshot of a slot and removes sales that it lacks. In the displayed slot such sales stay, closed,
   * because removing a card would move the others under the finger.
   */
  function replaceSlot(slot: string, fresh: readonly Sale[]): void {
    const keptIds = new Set(fresh.map((sale) => sale.id))
    for (const sale of ofSlot(slot)) {
      if (keptIds.has(sale.id)) continue
      if (slot === slots.shown?.id) change({ ...sale, phase: 'closed' })
      else byId.value.delete(sale.id)
    }
    fresh.forEach(change)
    readSlots.value.add(slot)
  }

  /** Closes the sales of a slot that the server has deleted. */
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
   * Applies the newest numbers; a tick may contain a sale that is no longer watched. It writes into the sale objects,
   * so that only components that show a changed number are redrawn.
   */
  function tick(lines: readonly TickLine[]): void {
    for (const { id, ...counters } of lines) {
      const sale = byId.value.get(id)
      if (sale) Object.assign(sale, counters)
    }
  }

  return { byId: sales, readSlots: asReadonly(readSlots), shown, replaceSlot, endSlot, change, tick }
})
