import { computed, ref, watch } from 'vue'
import type { Order } from '../protocol/types'
import { closeSheet, isSheetOpen, openSheet, router } from '../router'
import { useOrders } from './orders'

/** The state of a sheet for one order. Its route contains the order. */
export function createOrderSheet(name: 'pay' | 'delivery' | 'refund' | 'cancel' | 'receipt') {
  const orders = useOrders()
  const isOpen = computed(() => isSheetOpen(name) && order.value !== undefined)
  /** The order of the sheet, also while the sheet closes. */
  const id = ref('')
  /** The current order: it may change while its sheet is open. */
  const order = computed(() => orders.byId.get(id.value))

  watch(
    router.currentRoute,
    ({ params }) => {
      if (isSheetOpen(name)) id.value = String(params.id)
    },
    { immediate: true },
  )

  const show = (wanted: Order): void => openSheet(name, { id: wanted.id })
  const close = (): void => closeSheet(name)

  // The order disappears if its user signs out.
  watch(order, (now, before) => {
    if (before && !now) close()
  })

  return { isOpen, order, show, close }
}
