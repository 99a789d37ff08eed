import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import { asReadonly } from './readonly'
import { useSales } from './sales'
import { useSlots } from './slots'

/** Number of samples kept. */
export const MAX_SAMPLES = 90

/** The sales rate of the displayed slot: orders per second, sampled at a fixed interval, newest last. */
export const useRates = defineStore('rates', () => {
  const sales = useSales()
  const slots = useSlots()
  const samples = ref<number[]>([])

  const rate = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.rate, 0))
  const watching = computed(() => Math.max(0, ...(sales.shown ?? []).map((sale) => sale.watching)))
  /** Units held or sold in this slot. */
  const taken = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.held + sale.sold, 0))

  function sample(): void {
    samples.value = [...samples.value.slice(1 - MAX_SAMPLES), rate.value]
  }

  // Each slot has its own rates.
  watch(
    () => slots.shown?.id,
    () => (samples.value = []),
  )

  return { samples: asReadonly(samples), rate, watching, taken, sample }
})
