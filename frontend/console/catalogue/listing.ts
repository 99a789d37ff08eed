import { ref, shallowRef } from 'vue'
import { useProblem } from '../problem'

/** A list that comes in pages: the first one anew whenever something else is asked for, and further ones on demand. */
export function useListing<T>(ask: (page: number) => Promise<{ items: T[]; more: boolean }>) {
  const explain = useProblem()
  const items = shallowRef<readonly T[]>()
  const more = ref(false)
  const problem = ref('')
  let pages = 0
  let reading = 0

  async function read(page: number): Promise<void> {
    const mine = ++reading
    try {
      const found = await ask(page)
      if (mine !== reading) return // something else is asked for by now
      items.value = page === 1 ? found.items : [...(items.value ?? []), ...found.items]
      more.value = found.more
      pages = page
      problem.value = ''
    } catch (error) {
      if (mine === reading) problem.value = explain(error)
    }
  }

  return { items, more, problem, begin: () => read(1), goOn: () => read(pages + 1) }
}
