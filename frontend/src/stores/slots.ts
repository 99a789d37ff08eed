import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import type { Phase, Slot } from '../protocol/types'
import { useLive } from './live'

/**
 * The phase of a slot or sale at an instant of the server's clock. The client draws the edges by itself; only
 * an early end, which the clock cannot know, is believed at once.
 */
export function phaseAt(of: { phase: Phase; opens_at: number; closes_at: number }, now: number): Phase {
  if (of.phase === 'closed' || now >= of.closes_at) return 'closed'
  return now < of.opens_at ? 'upcoming' : 'open'
}

/** The slot that people mean by "now": the open one, else the next, else the last. */
export function currentSlot(slots: Slot[], now: number): Slot | undefined {
  return slots.find((slot) => now < slot.closes_at) ?? slots.at(-1)
}

/** The slots of the day and which of them the page shows. */
export const useSlots = defineStore('slots', () => {
  const live = useLive()
  const slots = ref<Slot[]>([])
  /** False until the server told them for the first time. */
  const known = ref(false)
  /** The slot that the shopper chose; undefined follows the current one. */
  const pinned = ref<string>()

  const current = computed(() => currentSlot(slots.value, live.now))
  const shown = computed(() => slots.value.find((slot) => slot.id === pinned.value) ?? current.value)

  /** Takes the slots of a fresh snapshot. */
  function replace(fresh: Slot[]): void {
    slots.value = [...fresh].sort((a, b) => a.opens_at - b.opens_at)
    known.value = true
    if (!fresh.some((slot) => slot.id === pinned.value)) pinned.value = undefined
  }

  /** Takes a change of one slot, or a new one. */
  function change(slot: Slot): void {
    replace([...slots.value.filter((other) => other.id !== slot.id), slot])
  }

  /** Shows a slot; choosing the current one goes back to following it. */
  function choose(id: string): void {
    pinned.value = id === current.value?.id ? undefined : id
  }

  /** Goes back to following the current slot. */
  function unpin(): void {
    pinned.value = undefined
  }

  return { slots, known, pinned, current, shown, replace, change, choose, unpin }
})
