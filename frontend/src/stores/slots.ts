import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import type { Phase, Slot } from '../protocol/types'
import { useLive } from './live'
import { asReadonly } from './readonly'

/**
 * The phase of a slot or sale at an instant of the server's clock. The client draws the edges by itself; only
 * an early end, which the clock cannot know, is believed at once.
 */
export function phaseAt(of: { phase: Phase; opens_at: number; closes_at: number }, now: number): Phase {
  if (of.phase === 'closed' || now >= of.closes_at) return 'closed'
  return now < of.opens_at ? 'upcoming' : 'open'
}

/** The slot that people mean by "now": the open one, else the next, else the last. */
export function currentSlot(slots: readonly Slot[], now: number): Slot | undefined {
  return slots.find((slot) => phaseAt(slot, now) !== 'closed') ?? slots.at(-1)
}

/**
 * The slots of the day and which of them the page shows. A slot on show stays when it ends, and the shopper goes on
 * to the next one: nothing is put under a finger that was about to press something else.
 */
export const useSlots = defineStore('slots', () => {
  const live = useLive()
  const slots = ref<Slot[]>([])
  const day = asReadonly(slots)
  /** False until the server told them for the first time. */
  const known = ref(false)
  /** The slot on show: the current one at first, then the one that the shopper chose. */
  const chosen = ref<string>()

  const current = computed(() => currentSlot(day.value, live.now))
  const shown = computed(() => day.value.find((slot) => slot.id === chosen.value) ?? current.value)
  /** Where to go on from a slot on show that has ended; undefined while it has not, and after the last one. */
  const next = computed(() => {
    const ended = shown.value && phaseAt(shown.value, live.now) === 'closed'
    return ended && current.value && phaseAt(current.value, live.now) !== 'closed' ? current.value : undefined
  })

  /** Takes the slots of a fresh snapshot. The one on show stays even if it is none of them: people look at it. */
  function replace(fresh: readonly Slot[]): void {
    const looked = slots.value.find(({ id }) => id === chosen.value && !fresh.some((slot) => slot.id === id))
    slots.value = [...fresh, ...(looked ? [ended(looked)] : [])].sort((a, b) => a.opens_at - b.opens_at)
    known.value = true
    chosen.value ??= current.value?.id
  }

  function ended(slot: Slot): Slot {
    const closes_at = Math.min(slot.closes_at, live.now)
    return { ...slot, phase: 'closed', closes_at, opens_at: Math.min(slot.opens_at, closes_at) }
  }

  /** Takes a change of one slot, or a new one. */
  function change(slot: Slot): void {
    replace([...slots.value.filter((other) => other.id !== slot.id), slot])
  }

  function choose(id: string): void {
    chosen.value = id
  }

  /** Takes the word of the server that it has no such slot. */
  function end(id: string): void {
    slots.value = slots.value.map((slot) => (slot.id === id ? ended(slot) : slot))
  }

  /** Goes back to the current slot from one that never came to be seen. */
  function letGo(): void {
    chosen.value = undefined
  }

  return { slots: day, known: asReadonly(known), current, shown, next, replace, change, choose, end, letGo }
})
