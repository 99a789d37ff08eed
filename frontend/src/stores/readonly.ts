import { computed, readonly, type ComputedRef, type DeepReadonly, type Ref } from 'vue'

/** Returns a deeply read-only view of a store's state. Only the store's own actions write it. */
export function asReadonly<T>(state: Ref<T>): ComputedRef<DeepReadonly<T>> {
  const shown = readonly(state) as Readonly<Ref<DeepReadonly<T>>>
  return computed(() => shown.value)
}
