import { ref, shallowRef, watch, type Ref, type WatchSource } from 'vue'
import { useProblem } from './problem'

/** A page of a list; `more` reports that further pages exist. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly more: boolean
}

/**
 * A list that is loaded page by page, and reloaded when a source changes. `read` receives the last item of the previous
 * page and the page number, from 1. A response to an outdated request is dropped.
 */
export function useListing<T>(
  sources: WatchSource[],
  read: (last: T | undefined, page: number) => Promise<Page<T>>,
) {
  const explain = useProblem()
  const items: Ref<readonly T[] | undefined> = shallowRef()
  const more = ref(false)
  const problem = ref('')
  let pages = 0 // number of pages loaded for the current sources
  let latest = 0

  async function loadMore(): Promise<void> {
    const request = ++latest
    const before = pages > 0 ? (items.value ?? []) : []
    const page = pages + 1
    try {
      const found = await read(before.at(-1), page)
      if (request !== latest) return
      items.value = [...before, ...found.items]
      more.value = found.more
      pages = page
      problem.value = ''
    } catch (error) {
      if (request === latest) problem.value = explain(error)
    }
  }
  function load(): Promise<void> {
    pages = 0 // the loaded items belong to an outdated request, so they get no further pages
    return loadMore()
  }
  watch(sources, load, { immediate: true })

  return { items, more, problem, load, loadMore }
}
