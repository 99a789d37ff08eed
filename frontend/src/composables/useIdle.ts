import { ref, watch, type Ref } from 'vue'

/** True once the browser is idle after the condition has held; for content that must not delay the page. */
export function useIdle(condition: () => boolean): Readonly<Ref<boolean>> {
  const isIdle = ref(false)
  const onIdle = (): boolean => (isIdle.value = true)
  watch(
    condition,
    (holds) => {
      if (!holds) return
      // Older versions of Safari have no idle callbacks.
      if ('requestIdleCallback' in window) window.requestIdleCallback(onIdle)
      else onIdle()
    },
    { immediate: true },
  )
  return isIdle
}
