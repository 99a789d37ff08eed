import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { askServer } from '../account/http'
import { parseDetails } from '../protocol/parse'
import type { Details } from '../protocol/types'
import { useLive } from './live'
import { asReadonly } from './readonly'
import { useSales } from './sales'

/** So long details count as they were read; older ones are shown while they are read again. */
const FRESH_MS = 60_000

interface Read extends Details {
  /** When they were asked for. */
  readonly at: number
}

/** The one sheet that shows what a card has no room for, and what was read for it. */
export const useDetails = defineStore('details', () => {
  const live = useLive()
  const sales = useSales()
  const id = ref('')
  const isOpen = ref(false)
  const read = ref(new Map<string, Read>())
  /** Nothing is known of the shown sale, and it could not be read. */
  const failed = ref(false)
  /** As it is now: it may open, or be sold out, while its sheet is open. */
  const sale = computed(() => sales.byId.get(id.value))
  const details = computed(() => read.value.get(id.value))

  function show(wanted: string): void {
    id.value = wanted
    isOpen.value = true
    void look()
  }

  /** Reads the shown sale, unless that was done just now. */
  async function look(): Promise<void> {
    const [wanted, at] = [id.value, live.instant()]
    failed.value = false
    if (at - (details.value?.at ?? -Infinity) < FRESH_MS) return
    try {
      read.value.set(wanted, { ...parseDetails(await askServer('GET', `/sales/${wanted}`)), at })
    } catch (error) {
      console.warn('details:', error)
      if (wanted === id.value) failed.value = !details.value
    }
  }

  const close = (): boolean => (isOpen.value = false)
  return { isOpen: asReadonly(isOpen), failed: asReadonly(failed), sale, details, show, look, close }
})
