import { computed } from 'vue'
import type { Order } from '../protocol/types'
import { openSheet, router } from '../router'
import { defineStore } from './define'
import { createOrderSheet } from './ordersheet'
import { useSales } from './sales'

/** The sheet in which the shopper sets the delivery address of an order. */
export const useDeliverySheet = defineStore('deliverysheet', () => {
  const sales = useSales()
  const sheet = createOrderSheet('delivery')
  /** The payment follows the address. */
  const paysNext = computed(() => 'pay' in router.currentRoute.value.query)

  /** Reports whether the order must get an address before it is paid. If its sale is not loaded, the server decides. */
  function isRequired({ address, sale }: Order): boolean {
    return !address && sales.byId.get(sale)?.product.ships === true
  }

  function show({ id }: Order, pay = false): void {
    openSheet('delivery', { id }, pay ? { pay: '' } : {})
  }

  return { ...sheet, paysNext, isRequired, show }
})
