import { computed, shallowRef } from 'vue'
import type { Sale } from '../protocol/types'
import { useLive } from '../stores/live'
import { useInterval } from '../timers'

const MINUTE_MS = 60_000
const SAMPLE_MS = 1_000

/** The units of a sale that were taken in the last minute, or since the page shows the sale if that is shorter. */
export function useTakenLastMinute(sale: () => Sale | undefined) {
  const live = useLive()
  const samples = shallowRef<readonly { at: number; taken: number }[]>([])

  useInterval(SAMPLE_MS, () => {
    const shown = sale()
    if (!shown || !live.isLive) return
    const at = live.instant()
    samples.value = [
      ...samples.value.filter((sample) => sample.at > at - MINUTE_MS),
      { at, taken: shown.held + shown.sold },
    ]
  })
  // Returned units can make the number negative.
  return computed(() => Math.max(0, (samples.value.at(-1)?.taken ?? 0) - (samples.value[0]?.taken ?? 0)))
}
