import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import type { Order } from '../protocol/types'
import { useOrders } from './orders'
import { asReadonly } from './readonly'

/** The one sheet in which an order is paid at a desktop, wherever Pay was pressed. */
export const usePaySheet = defineStore('paysheet', () => {
  const orders = useOrders()
  const id = ref('')
  const isOpen = ref(false)
  /** As it is now: it may be paid while its sheet is open. */
  const order = computed(() => orders.byId.get(id.value))

  function show(wanted: Order): void {
    id.value = wanted.id
    isOpen.value = true
  }

  return { isOpen: asReadonly(isOpen), order, show, close: () => (isOpen.value = false) }
})
