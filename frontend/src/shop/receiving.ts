import { ref } from 'vue'
import { useAccountClient } from '../account/client'
import type { Order } from '../protocol/types'
import { asReadonly } from '../stores/readonly'
import { useExplain } from './explain'

/** Saying that an order has come. That it is finished is told by an `order` event, not by this reply. */
export function openReceiving() {
  const client = useAccountClient()
  const explain = useExplain()
  /** Orders whose receipt is being confirmed. */
  const receiving = ref(new Set<string>())

  async function receive(order: Order): Promise<void> {
    if (receiving.value.has(order.id)) return
    receiving.value.add(order.id)
    try {
      await client.confirmReceipt(order.id)
    } catch (error) {
      explain(error)
    } finally {
      receiving.value.delete(order.id)
    }
  }

  return { receiving: asReadonly(receiving), receive }
}
