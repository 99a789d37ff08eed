import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import type { Order } from '../protocol/types'
import { useOrders } from './orders'
import { asReadonly } from './readonly'
import { useSales } from './sales'

/** The sheet in which the shopper sets the delivery address of an order. */
export const useDeliverySheet = defineStore('deliverysheet', () => {
  const orders = useOrders()
  const sales = useSales()
  const id = ref('')
  const isOpen = ref(false)
  /** The payment follows the address. */
  const paysNext = ref(false)
  const order = computed(() => orders.byId.get(id.value))

  /** Reports whether the order must get an address before it is paid. If its sale is not loaded, the server decides. */
  function isRequired({ address, sale }: Order): boolean {
    return !address && sales.byId.get(sale)?.product.ships === true
  }

  function show(wanted: Order, pay = false): void {
    id.value = wanted.id
    paysNext.value = pay
    isOpen.value = true
  }

  function close(): void {
    isOpen.value = false
  }

  // The order disappears if its user signs out.
  watch(order, (now) => now ?? close())

  return { isOpen: asReadonly(isOpen), paysNext: asReadonly(paysNext), order, isRequired, show, close }
})
