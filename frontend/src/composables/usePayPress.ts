import { wayToPay } from '../checkout/departure'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import { usePaySheet } from '../stores/paysheet'

/** What a press of Pay does. A phone cannot scan itself: there the cashier opens at once. */
export function usePayPress(): (order: Order) => void {
  const shop = useShop()
  const sheet = usePaySheet()
  return (order) => (wayToPay() === 'wap' ? void shop.pay(order) : sheet.show(order))
}
