import { readonly, ref, watch, type Ref } from 'vue'
import { useDrawn, useTimer } from '../timers'

/** A click at most this long after an outcome, in milliseconds, was meant for the previous state. */
export const GUARD_MS = 1_500
/** For a control that appears under a finger: ignores the second click of a double click, in milliseconds. */
export const APPEAR_GUARD_MS = 500

/**
 * Reports whether clicks are ignored, because an outcome has just changed the meaning of the button. The guarded period
 * starts synchronously when `outcome` changes, and with `atFirst` also when the button appears. Its end is `after` or
 * `atFirst` milliseconds after the change was drawn: drawing can be slow, and the shopper cannot react before.
 */
export function useClickGuard(outcome: () => unknown, after = GUARD_MS, atFirst = 0): Readonly<Ref<boolean>> {
  const guarded = ref(false)
  const timer = useTimer()
  const drawn = useDrawn()

  function begin(ms: number): void {
    guarded.value = true
    timer.stop()
    drawn(() => timer.start(ms, () => (guarded.value = false)))
  }

  watch(outcome, () => begin(after), { flush: 'sync' })
  if (atFirst > 0) begin(atFirst)
  return readonly(guarded)
}
