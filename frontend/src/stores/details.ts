import { computed, ref, watch } from 'vue'
import { callServer } from '../account/http'
import { Refused } from '../live/ops'
import { parseDetails, parseSale } from '../protocol/parse'
import type { Details } from '../protocol/types'
import { page } from '../router'
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

/** The sale of the displayed sale page, and the cache of loaded details. */
export const useDetails = defineStore('details', () => {
  const live = useLive()
  const sales = useSales()
  /** The sale of the page; undefined on other pages. */
  const id = computed(() => (page.value.name === 'sale' ? String(page.value.params.id) : undefined))
  const cache = ref(new Map<string, CachedDetails>())
  /** Loading failed, and the displayed sale is not known completely. */
  const failed = ref(false)
  /** The displayed sale does not exist. */
  const missing = ref(false)
  /** The current sale: it may open or sell out while its page is displayed. */
  const sale = computed(() => (id.value ? sales.byId.get(id.value) : undefined))
  const details = computed(() => (id.value ? cache.value.get(id.value) : undefined))

  /** Loads the displayed sale unless its details are fresh. */
  async function load(): Promise<void> {
    const [wanted, at] = [id.value, live.instant()]
    failed.value = missing.value = false
    if (!wanted || (sale.value && at - (details.value?.at ?? -Infinity) < FRESH_MS)) return
    try {
      const answer = await callServer('GET', `/sales/${wanted}`)
      cache.value.set(wanted, { ...parseDetails(answer), at })
      // A sale of another slot. Then its slot is watched, see shop/watching.ts.
      if (!sales.byId.has(wanted)) sales.change(parseSale(answer))
    } catch (error) {
      console.warn('details:', error)
      if (wanted !== id.value) return
      missing.value = error instanceof Refused && error.refusal.code === 'not_found' && !sale.value
      failed.value = !(details.value && sale.value) && !missing.value
    }
  }

  watch(id, load, { immediate: true })
  watch(
    () => live.isLive,
    (isLive) => {
      if (isLive && failed.value) void load()
    },
  )
  // The sale was deleted from the snapshots.
  watch(sale, (now, before) => {
    if (before?.id === id.value && !now) void load()
  })

  /** The sale is displayed: on the page of the slots, or on its own page. */
  const isShown = (wanted: string): boolean =>
    wanted === id.value ||
    (page.value.name === 'home' && (sales.shown ?? []).some((one) => one.id === wanted))

  return { failed: asReadonly(failed), missing: asReadonly(missing), sale, details, isShown, load }
})
