import { ref, shallowRef, watch, type Ref, type WatchSource } from 'vue'
import { useProblem } from './problem'

/** A part of a list, in its order; `more` follow. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly more: boolean
}

/**
 * A list that is read page by page, anew whenever one of the sources changes. `read` is told behind which item the page
 * begins, and its number, from 1 on. An answer that comes after a later question is dropped.
 */
export function useListing<T>(
  sources: WatchSource[],
  read: (behind: T | undefined, page: number) => Promise<Page<T>>,
) {
  const explain = useProblem()
  const items: Ref<readonly T[] | undefined> = shallowRef()
  const more = ref(false)
  const problem = ref('')
  let pages = 0 // that answer the present question
  let asking = 0

  async function goOn(): Promise<void> {
    const mine = ++asking
    const before = pages > 0 ? (items.value ?? []) : []
    const page = pages + 1
    try {
      const found = await read(before.at(-1), page)
      if (mine !== asking) return
      items.value = [...before, ...found.items]
      more.value = found.more
      pages = page
      problem.value = ''
    } catch (error) {
      if (mine === asking) problem.value = explain(error)
    }
  }
  function load(): Promise<void> {
    pages = 0 // what is there answers an older question, and nothing goes on behind it
    return goOn()
  }
  watch(sources, load, { immediate: true })

  return { items, more, problem, load, goOn }
}
