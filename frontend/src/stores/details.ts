import { computed, ref } from 'vue'
import { callServer } from '../account/http'
import { parseDetails } from '../protocol/parse'
import type { Details } from '../protocol/types'
import { defineStore } from './define'
import { useLive } from './live'
import { asReadonly } from './readonly'
import { useSales } from './sales'

/** Details are fresh for this time, in milliseconds. Older details are shown while they are reloaded. */
const FRESH_MS = 60_000

interface CachedDetails extends Details {
  /** The time of the request. */
  readonly at: number
}

/** The sheet with the details of a sale, and the cache of loaded details. */
export const useDetails = defineStore('details', () => {
  const live = useLive()
  const sales = useSales()
  const id = ref('')
  const isOpen = ref(false)
  const cache = ref(new Map<string, CachedDetails>())
  /** Loading failed, and nothing is cached for the displayed sale. */
  const failed = ref(false)
  /** The current sale: it may open or sell out while its sheet is open. */
  const sale = computed(() => sales.byId.get(id.value))
  const details = computed(() => cache.value.get(id.value))

  function show(wanted: string): void {
    id.value = wanted
    isOpen.value = true
    void load()
  }

  /** Loads the displayed sale unless its details are fresh. */
  async function load(): Promise<void> {
    const [wanted, at] = [id.value, live.instant()]
    failed.value = false
    if (at - (details.value?.at ?? -Infinity) < FRESH_MS) return
    try {
      cache.value.set(wanted, { ...parseDetails(await callServer('GET', `/sales/${wanted}`)), at })
    } catch (error) {
      console.warn('details:', error)
      if (wanted === id.value) failed.value = !details.value
    }
  }

  const close = (): boolean => (isOpen.value = false)
  return { isOpen: asReadonly(isOpen), failed: asReadonly(failed), sale, details, show, load, close }
})
