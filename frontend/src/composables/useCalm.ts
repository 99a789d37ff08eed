import { readonly, ref, watch, type Ref } from 'vue'
import { useDrawn, useTimer } from '../timers'

/** A press this soon after an outcome was meant for what was there before, in milliseconds. */
export const CALM_MS = 1_500
/** Where something has come under a finger that had pressed something else: the second click of a double click. */
export const FRESH_MS = 500

/**
 * Whether presses do not count just now, because something has become of an earlier one and the button has another
 * meaning since. Calm begins in the very moment in which `outcome` changes, before anything is drawn, and with
 * `atFirst` also when the button appears; both last so many milliseconds from when that was drawn, which takes its time
 * where many cards change at once: nobody has seen it before.
 */
export function useCalm(outcome: () => unknown, after = CALM_MS, atFirst = 0): Readonly<Ref<boolean>> {
  const calm = ref(false)
  const timer = useTimer()
  const drawn = useDrawn()

  function begin(ms: number): void {
    calm.value = true
    timer.stop()
    drawn(() => timer.start(ms, () => (calm.value = false)))
  }

  watch(outcome, () => begin(after), { flush: 'sync' })
  if (atFirst > 0) begin(atFirst)
  return readonly(calm)
}
