import type { LiveSocket } from '../live/socket'
import type { Address, Order } from '../protocol/types'
import { useExplain } from './explain'

/** Sets delivery addresses. A reply only confirms the request; an `order` event contains the new address. */
export function openAddressing(socket: LiveSocket) {
  const explain = useExplain()

  /** Sets the delivery address of an order; true if the server accepted it. */
  async function setAddress(order: Order, address: Address): Promise<boolean> {
    try {
      await socket.request('address', { order: order.id, address: { ...address } })
      return true
    } catch (error) {
      explain(error)
      return false
    }
  }

  return { setAddress }
}
