import { computed } from 'vue'
import { placeOf, waitOf } from '../checkout/place'
import type { Order } from '../protocol/types'
import { useSales } from '../stores/sales'
import { useWords } from '../words'

/** The place of a reservation in words, and about how long it takes; it moves with every tick. */
export function usePlace(order: () => Order) {
  const sales = useSales()
  const words = useWords()

  const sale = computed(() => sales.byId.get(order().sale))
  /** Undefined while the sale is not watched: then nobody tells how many are settled. */
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

  return { place, text, wait }
}
