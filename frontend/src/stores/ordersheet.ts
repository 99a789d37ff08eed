import { computed, ref, watch } from 'vue'
import type { Order } from '../protocol/types'
import { useOrders } from './orders'
import { asReadonly } from './readonly'

/** The state of a sheet for one order. */
export function createOrderSheet() {
  const orders = useOrders()
  const id = ref('')
  const isOpen = ref(false)
  /** The current order: it may change while its sheet is open. */
  const order = computed(() => orders.byId.get(id.value))

  function show(wanted: Order): void {
    id.value = wanted.id
    isOpen.value = true
  }

  function close(): void {
    isOpen.value = false
  }

  // The order disappears if its user signs out.
  watch(order, (now) => now ?? close())

  return { isOpen: asReadonly(isOpen), order, show, close }
}
