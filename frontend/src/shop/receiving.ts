import { ref } from 'vue'
import type { Order } from '../protocol/types'
import { asReadonly } from '../stores/readonly'
import { useExplain } from './explain'

/** Confirms receipts. An `order` event reports the finished order, not this reply. */
export function openReceiving() {
  const explain = useExplain()
  /** Orders with a running confirmation. */
  const receiving = ref(new Set<string>())

  async function receive(order: Order): Promise<void> {
    if (receiving.value.has(order.id)) return
    receiving.value.add(order.id)
    try {
      const { useAccountClient } = await import('../account/client')
      await useAccountClient().confirmReceipt(order.id)
    } catch (error) {
      explain(error)
    } finally {
      receiving.value.delete(order.id)
    }
  }

  return { receiving: asReadonly(receiving), receive }
}
