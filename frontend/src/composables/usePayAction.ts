import { paymentMethod } from '../checkout/departure'
import type { Order } from '../protocol/types'
import { useShop } from '../shop/open'
import { useDeliverySheet } from '../stores/deliverysheet'
import { usePaySheet } from '../stores/paysheet'

/**
 * The actions of Pay. `pay` requests a missing delivery address first; `payNow` follows when the server has it. A phone
 * cannot scan its own screen, so there it opens the cashier at once.
 */
export function usePayAction() {
  const shop = useShop()
  const sheet = usePaySheet()
  const delivery = useDeliverySheet()

  function payNow(order: Order): void {
    if (paymentMethod() === 'wap') void shop.pay(order)
    else sheet.show(order)
  }

  function pay(order: Order): void {
    if (delivery.isRequired(order)) delivery.show(order, true)
    else payNow(order)
  }

  return { pay, payNow }
}
