import { effectScope, reactive, type ShallowUnwrapRef } from 'vue'

/** The stores of the page, and the scope of their effects. */
let stores = new Map<string, object>()
let scope = effectScope(true)

/** Defines a store: `setup` runs once per page, at the first use. The returned refs are unwrapped. */
export function defineStore<S extends object>(
  name: string,
  setup: () => S,
): () => Readonly<ShallowUnwrapRef<S>> {
  return () => {
    let store = stores.get(name)
    if (!store) stores.set(name, (store = reactive(scope.run(setup) as S)))
    return store as Readonly<ShallowUnwrapRef<S>>
  }
}

/** Starts new stores, as another page does; the returned function ends their effects. Only tests need it. */
export function freshStores(): () => void {
  stores = new Map()
  const own = (scope = effectScope(true))
  return () => own.stop()
}
