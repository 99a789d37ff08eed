import { watch } from 'vue'
import { useAccountSheet } from '../stores/accountsheet'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'

/** Continues the buy for which the shopper has logged in, as soon as the shopper's orders are known. */
export function openLoginBuy(buy: (sale: string, qty: number) => void) {
  const live = useLive()
  const orders = useOrders()
  const sheet = useAccountSheet()
  let purchase: typeof sheet.purchase

  watch(
    () => live.ready && orders.loaded,
    (ready) => {
      if (!ready || !purchase) return
      const { sale, qty } = purchase
      purchase = undefined
      // The account may already have an order of this sale; then its card shows Pay.
      if (!orders.running.some((order) => order.sale === sale)) buy(sale, qty)
    },
  )

  return { loggedIn: () => (purchase = sheet.purchase) }
}
