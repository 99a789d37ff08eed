import { computed, ref, shallowRef } from 'vue'
import type { Phase, Slot } from '../protocol/types'
import { defineStore } from './define'
import { useLive } from './live'
import { asReadonly } from './readonly'

/**
 * The phase of a slot or sale at an instant of the server's clock. The client computes opening and closing itself. An
 * early close cannot be computed, so it is taken from the server at once.
 */
export function phaseAt(period: { phase: Phase; opens_at: number; closes_at: number }, now: number): Phase {
  if (period.phase === 'closed' || now >= period.closes_at) return 'closed'
  return now < period.opens_at ? 'upcoming' : 'open'
}

/** The current slot: the open one, else the next, else the last. */
export function currentSlot(slots: readonly Slot[], now: number): Slot | undefined {
  return slots.find((slot) => phaseAt(slot, now) !== 'closed') ?? slots.at(-1)
}

/**
 * The slots of the day, and the displayed one. A displayed slot stays when it ends, until the shopper opens the next
 * one: no control changes under the finger.
 */
export const useSlots = defineStore('slots', () => {
  const live = useLive()
  const slots = ref<Slot[]>([])
  const day = asReadonly(slots)
  /** False until the server has sent the slots. */
  const known = ref(false)
  /** The displayed slot: at first the current one, then the shopper's choice. */
  const chosen = ref<string>()

  /** The slots of another day that the shopper has selected; undefined: today. */
  const otherDay = shallowRef<readonly Slot[]>()
  const isOtherDay = computed(
    () =>
      otherDay.value !== undefined &&
      !otherDay.value.some(({ id }) => day.value.some((slot) => slot.id === id)),
  )
  /** The slots to select from. */
  const offered = computed(() => (isOtherDay.value && otherDay.value ? otherDay.value : day.value))

  const current = computed(() => currentSlot(day.value, live.now))
  const shown = computed(
    () =>
      offered.value.find((slot) => slot.id === chosen.value) ??
      (isOtherDay.value ? offered.value[0] : current.value),
  )
  /** The current slot, if the displayed slot has ended; undefined before that, and after the last slot. */
  const next = computed(() => {
    const ended = !isOtherDay.value && shown.value && phaseAt(shown.value, live.now) === 'closed'
    return ended && current.value && phaseAt(current.value, live.now) !== 'closed' ? current.value : undefined
  })

  /** Applies the slots of a snapshot. The displayed slot stays even if the snapshot lacks it. */
  function replace(fresh: readonly Slot[]): void {
    const missing = slots.value.find(({ id }) => id === chosen.value && !fresh.some((slot) => slot.id === id))
    slots.value = [...fresh, ...(missing ? [ended(missing)] : [])].sort((a, b) => a.opens_at - b.opens_at)
    known.value = true
    chosen.value ??= current.value?.id
  }

  function ended(slot: Slot): Slot {
    const closes_at = Math.min(slot.closes_at, live.now)
    return { ...slot, phase: 'closed', closes_at, opens_at: Math.min(slot.opens_at, closes_at) }
  }

  /** Applies a changed or new slot. */
  function change(slot: Slot): void {
    replace([...slots.value.filter((other) => other.id !== slot.id), slot])
  }

  /** Shows the slots of another day; undefined: of today. */
  function showDay(slotsOfDay: readonly Slot[] | undefined): void {
    otherDay.value = slotsOfDay
  }

  function choose(id: string): void {
    chosen.value = id
  }

  /** Closes a slot that the server has deleted. */
  function end(id: string): void {
    slots.value = slots.value.map((slot) => (slot.id === id ? ended(slot) : slot))
  }

  /** Returns to the current slot from a slot that was never loaded. */
  function reset(): void {
    chosen.value = undefined
  }

  return {
    slots: day,
    offered,
    known: asReadonly(known),
    current,
    shown,
    next,
    replace,
    change,
    showDay,
    choose,
    end,
    reset,
  }
})
