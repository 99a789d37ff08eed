import { computed } from 'vue'
import { placeOf, waitOf } from '../checkout/place'
import type { Order } from '../protocol/types'
import { useSales } from '../stores/sales'
import { useWords } from '../words'

/** The minimum visible share of a bar. */
const MIN_SHARE = 0.04
/** The initial place of each order, so that all its bars show the same progress. */
const firstPlaces = new Map<string, number>()

/** The place of a reservation as text, the estimated wait, and the progress. They change with every tick. */
export function usePlace(order: () => Order) {
  const sales = useSales()
  const words = useWords()

  const sale = computed(() => sales.byId.get(order().sale))
  /** Undefined while the sale is not watched: without ticks, the number of settled tickets is unknown. */
  const place = computed(() => (sale.value ? placeOf(order().ticket, sale.value.done) : undefined))
  const text = computed(() => {
    const w = words.value.place
    if (place.value === undefined) return w.ticket(order().ticket)
    return place.value === 0 ? w.next : w.before(place.value)
  })
  const wait = computed(() => {
    const ms = place.value ? waitOf(place.value, sale.value?.rate ?? 0) : undefined
    return ms === undefined ? '' : words.value.place.wait(Math.ceil(ms / 1000))
  })

  const progress = computed(() => {
    if (place.value === undefined) return MIN_SHARE
    const { id } = order()
    const first = Math.max(firstPlaces.get(id) ?? 0, place.value)
    firstPlaces.set(id, first)
    return Math.max(MIN_SHARE, first === 0 ? 1 : 1 - place.value / first)
  })

  return { text, wait, progress }
}
