import { shallowRef, watch, type Ref } from 'vue'
import { useTimer } from '../timers'

/** Minimum interval between changes of a label for screen readers, in milliseconds. */
const MIN_INTERVAL_MS = 5_000

/**
 * Returns a copy of a value that changes with a limited rate, for labels of screen readers. When `edge` changes, the
 * copy is updated immediately.
 */
export function useThrottled<T>(value: () => T, edge: () => unknown): Readonly<Ref<T>> {
  const throttled = shallowRef(value())
  const timer = useTimer()
  // A random phase per label, so that the labels do not all change in the same tick.
  let changedAt = performance.now() - Math.random() * MIN_INTERVAL_MS

  function update(): void {
    timer.stop()
    changedAt = performance.now()
    throttled.value = value()
  }

  watch(value, () => {
    if (!timer.isRunning()) timer.start(Math.max(0, changedAt + MIN_INTERVAL_MS - performance.now()), update)
  })
  watch(edge, update)
  return throttled
}
