import { ref } from 'vue'
import type { Order } from '../protocol/types'
import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'
import { asReadonly } from './readonly'
import { useSales } from './sales'

/** The sheet in which the shopper sets the delivery address of an order. */
export const useDeliverySheet = defineStore('deliverysheet', () => {
  const sales = useSales()
  const sheet = createOrderSheet()
  /** The payment follows the address. */
  const paysNext = ref(false)

  /** Reports whether the order must get an address before it is paid. If its sale is not loaded, the server decides. */
  function isRequired({ address, sale }: Order): boolean {
    return !address && sales.byId.get(sale)?.product.ships === true
  }

  function show(wanted: Order, pay = false): void {
    paysNext.value = pay
    sheet.show(wanted)
  }

  return { ...sheet, paysNext: asReadonly(paysNext), isRequired, show }
})
