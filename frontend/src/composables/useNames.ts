import type { Order, ProductText, Translated } from '../protocol/types'
import { usePreferences } from '../stores/preferences'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { useWords } from '../words'

/** The texts of products and the name of the user, in the shopper's language. */
export function useNames() {
  const preferences = usePreferences()
  const sales = useSales()
  const session = useSession()
  const words = useWords()

  /** A field of a product or of its details. A missing translation means its own text. */
  function translate<F extends keyof ProductText>(
    of: Translated & Readonly<Record<F, string>>,
    field: F,
  ): string {
    return of.texts?.[preferences.lang]?.[field] ?? of[field]
  }

  /** The product name of a sale. Until the sale is loaded, it is `own`. */
  function ofSale(sale: string, own = ''): string {
    const product = sales.byId.get(sale)?.product
    return (product && translate(product, 'name')) || own || words.value.orders.product
  }

  /** An order has only the product's own name. */
  const ofOrder = (order: Order): string => ofSale(order.sale, order.product_name)

  /** The server names guests "Guest 1234"; accounts have the names that their users chose. */
  function ofUser(): string {
    const { name = '' } = session.user ?? {}
    const number = session.isAccount ? undefined : /^Guest (\d+)$/.exec(name)?.[1]
    return number ? words.value.account.guest(number) : name
  }

  return { translate, ofSale, ofOrder, ofUser }
}
