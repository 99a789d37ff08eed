import { computed, ref, shallowRef, watch } from 'vue'
import { defineStore } from './define'
import { asReadonly } from './readonly'
import { useSales } from './sales'
import { useSlots } from './slots'

/** Samples older than this are dropped, in milliseconds. */
export const WINDOW_MS = 45_000
/** The maximum time between two samples of one line, in milliseconds. A hidden tab samples once a second. */
const MAX_STEP_MS = 1_500

export interface RateSample {
  /** The server's time, in Unix milliseconds. */
  at: number
  rate: number
  /** Whether the measurement continued since the previous sample. */
  joined: boolean
}

/** The sales rate of the displayed slot: orders per second, sampled at a fixed interval, newest last. */
export const useRates = defineStore('rates', () => {
  const sales = useSales()
  const slots = useSlots()
  const samples = shallowRef<readonly RateSample[]>([])
  /** The time of the last call of sample(). */
  const sampledAt = ref(0)
  let wasMeasured = false

  const rate = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.rate, 0))
  const watching = computed(() => Math.max(0, ...(sales.shown ?? []).map((sale) => sale.watching)))
  /** Units held or sold in this slot. */
  const taken = computed(() => (sales.shown ?? []).reduce((sum, sale) => sum + sale.held + sale.sold, 0))

  /** Adds a sample if the rate is measured at this time. */
  function sample(at: number, measured: boolean): void {
    const joined = wasMeasured && at - sampledAt.value <= MAX_STEP_MS
    const kept = samples.value.filter((sample) => sample.at > at - WINDOW_MS)
    samples.value = measured ? [...kept, { at, rate: rate.value, joined }] : kept
    sampledAt.value = at
    wasMeasured = measured
  }

  // Each slot has its own rates.
  watch(
    () => slots.shown?.id,
    () => {
      samples.value = []
      wasMeasured = false
    },
  )

  return { samples: asReadonly(samples), sampledAt: asReadonly(sampledAt), rate, watching, taken, sample }
})
