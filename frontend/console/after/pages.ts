import { ref, shallowRef, watch, type Ref, type WatchSource } from 'vue'
import { useProblem } from '../problem'
import type { Page } from './api'

/**
 * A list that is read page by page, anew whenever one of the sources changes. An answer that comes after a later
 * question is dropped.
 */
export function usePages<T>(sources: WatchSource[], read: (last?: T) => Promise<Page<T>>) {
  const explain = useProblem()
  const items: Ref<readonly T[] | undefined> = shallowRef()
  const more = ref(false)
  const problem = ref('')
  let asking = 0

  async function load(last?: T): Promise<void> {
    const mine = ++asking
    try {
      const page = await read(last)
      if (mine !== asking) return
      items.value = last === undefined ? page.items : [...(items.value ?? []), ...page.items]
      more.value = page.more
      problem.value = ''
    } catch (error) {
      if (mine === asking) problem.value = explain(error)
    }
  }
  watch(sources, () => load(), { immediate: true })

  return { items, more, problem, load, older: () => load(items.value?.at(-1)) }
}
