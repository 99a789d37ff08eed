import { defineStore } from 'pinia'
import { computed, shallowRef } from 'vue'
import { pages } from './pages'

const SPEC = '/docs/openapi.yaml'
const OPERATOR = '/api/v1/operator'

/** What this server can do for operators, as its own description says: in a rolling update not all nodes are of one age. */
export const useOffers = defineStore('offers', () => {
  const spec = shallowRef<string>()
  const offered = computed(() => pages.filter(({ needs }) => needs === undefined || has(needs)))

  function has(route: string): boolean {
    return spec.value?.includes(`\n  ${OPERATOR}${route}:\n`) ?? false
  }

  /** Reads the description, once; without one the pages that need nothing are there. */
  async function read(): Promise<void> {
    if (spec.value !== undefined) return
    try {
      const answer = await fetch(SPEC)
      if (answer.ok) spec.value = await answer.text()
    } catch (error) {
      console.warn('what the server can do is not known:', error)
    }
  }

  return { offered, has, read }
})
