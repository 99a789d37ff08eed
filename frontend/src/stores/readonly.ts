import { computed, readonly, type ComputedRef, type DeepReadonly, type Ref } from 'vue'

/** State as a store hands it out: to be read, at any depth. Only the store's own actions write it. */
export function asReadonly<T>(state: Ref<T>): ComputedRef<DeepReadonly<T>> {
  const shown = readonly(state) as Readonly<Ref<DeepReadonly<T>>>
  return computed(() => shown.value)
}
