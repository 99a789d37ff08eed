import { fields, optional, number, readable, text } from './fields'
import { parseOrder } from './parse'
import type { Order } from './types'

/** A state that the order has been in. */
export interface OrderStep {
  readonly state: string
  /** Absent if the server did not store the time. */
  readonly at?: number
}

/** An order with its history, for the page of the order. */
export interface OrderDetails {
  readonly order: Order
  readonly timeline: readonly OrderStep[]
  readonly carrier?: string
}

export function parseOrderDetails(value: unknown): OrderDetails {
  const f = fields(value, 'order')
  const step = (item: unknown): OrderStep => {
    const s = fields(item, 'step')
    return { state: text(s, 'state'), ...optional(s, 'at', number) }
  }
  return {
    order: parseOrder(value),
    timeline: readable(f, 'timeline', step),
    ...optional(f, 'carrier', text),
  }
}
