import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import { useSales } from './sales'
import { useSlots } from './slots'

/** How many samples are kept. */
export const KEPT = 90

/** The heartbeat of the shown slot: how many orders a second, sampled steadily, newest last. */
export const usePulse = defineStore('pulse', () => {
  const sales = useSales()
  const slots = useSlots()
  const beats = ref<number[]>([])

  const rate = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.rate, 0))
  const watching = computed(() => Math.max(0, ...(sales.shown ?? []).map((sale) => sale.watching)))
  /** Units that are taken in this slot: held or sold. */
  const taken = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.held + sale.sold, 0))

  function sample(): void {
    beats.value = [...beats.value.slice(1 - KEPT), rate.value]
  }

  // Another slot has another heart.
  watch(
    () => slots.shown?.id,
    () => (beats.value = []),
  )

  return { beats, rate, watching, taken, sample }
})
