import { ref, watch } from 'vue'

/**
 * The last decrease of a number, for an animation like "−3". `count` grows with each decrease, so that it can key the
 * animation.
 */
export function useLastDecrease(value: () => number) {
  const by = ref(0)
  const count = ref(0)
  watch(value, (now, before) => {
    if (now >= before) return
    by.value = before - now
    count.value++
  })
  return { by, count }
}
