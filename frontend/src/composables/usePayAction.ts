import { paymentMethod } from '../checkout/departure'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import { usePaySheet } from '../stores/paysheet'

/** Returns the action of Pay. A phone cannot scan its own screen, so there it opens the cashier at once. */
export function usePayAction(): (order: Order) => void {
  const shop = useShop()
  const sheet = usePaySheet()
  return (order) => (paymentMethod() === 'wap' ? void shop.pay(order) : sheet.show(order))
}
