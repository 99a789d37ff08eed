import { computed } from 'vue'
import { discount } from '../format/money'
import type { Sale } from '../protocol/types'
import { page, router } from '../router'
import { useNames } from './useNames'

/**
 * The order of the sales: as in the shop, or by a number of which the lowest is first. The number must not change while
 * the sale is displayed, because no card may move under the finger.
 */
const SORTS = {
  default: undefined,
  price: (sale: Sale) => sale.price_fen,
  discount: (sale: Sale) => -discount(sale.product.list_price_fen, sale.price_fen),
}
export const sorts = Object.keys(SORTS) as (keyof typeof SORTS)[]

/** The filter of the displayed sales. The URL contains it, so it can be shared and survives a visit to a sale. */
export function useSaleFilter() {
  const names = useNames()
  const query = (name: string): string => {
    const value = page.value.query[name]
    return typeof value === 'string' ? value : ''
  }
  /** A field of the query; the empty value is left out. */
  const field = (name: string) =>
    computed({
      get: () => query(name),
      set: (value: string) =>
        void router.replace({ query: { ...page.value.query, [name]: value || undefined } }),
    })
  const [day, category, search, sort] = [field('day'), field('category'), field('q'), field('sort')]
  const isActive = computed(() => [day, category, search, sort].some(({ value }) => value !== ''))

  function matches({ product }: Sale): boolean {
    const texts = [product.name, names.translate(product, 'name'), names.translate(product, 'category')]
    const isOfCategory = !category.value || category.value === product.category
    return (
      isOfCategory && texts.some((text) => text.toLowerCase().includes(search.value.trim().toLowerCase()))
    )
  }

  function apply(sales: readonly Sale[]): Sale[] {
    const number = SORTS[sorts.find((name) => name === sort.value) ?? 'default']
    const shown = sales.filter(matches)
    return number ? shown.sort((a, b) => number(a) - number(b)) : shown
  }

  return { day, category, search, sort, isActive, apply }
}
