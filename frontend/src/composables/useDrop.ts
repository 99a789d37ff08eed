import { ref, watch } from 'vue'

/**
 * The last fall of a number, for showing "−3" as it happens: `count` grows with each fall, so that it can
 * key an animation.
 */
export function useDrop(value: () => number) {
  const by = ref(0)
  const count = ref(0)
  watch(value, (now, before) => {
    if (now >= before) return
    by.value = before - now
    count.value++
  })
  return { by, count }
}
