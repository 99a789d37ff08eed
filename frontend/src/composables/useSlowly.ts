import { shallowRef, watch, type Ref } from 'vue'
import { useTimer } from '../timers'

/** How often a label may change that is read out and not seen, in milliseconds. */
const EVERY_MS = 5_000

/**
 * A value that follows another one slowly: for labels of screen readers, which nobody hears ten times a second. When
 * `edge` changes it follows at once.
 */
export function useSlowly<T>(value: () => T, edge: () => unknown): Readonly<Ref<T>> {
  const slow = shallowRef(value())
  const timer = useTimer()
  // Another moment for each label: they do not all change in the same tick.
  let changedAt = performance.now() - Math.random() * EVERY_MS

  function follow(): void {
    timer.stop()
    changedAt = performance.now()
    slow.value = value()
  }

  watch(value, () => {
    if (!timer.isRunning()) timer.start(Math.max(0, changedAt + EVERY_MS - performance.now()), follow)
  })
  watch(edge, follow)
  return slow
}
