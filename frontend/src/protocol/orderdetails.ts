import { list, number, object, optional, parse, text } from './fields'
import { parseOrder } from './parse'
import type { Order } from './types'

/** A state that the order has been in. `at` is absent if the server did not store the time. */
interface OrderStep {
  readonly state: string
  readonly at?: number
}

interface History {
  readonly timeline: readonly OrderStep[]
  readonly carrier?: string
}

/** An order with its history, for the page of the order. */
export interface OrderDetails extends History {
  readonly order: Order
}

const history = object<History>({
  timeline: list(object<OrderStep>({ state: text, at: optional(number) })),
  carrier: optional(text),
})

export function parseOrderDetails(value: unknown): OrderDetails {
  return { order: parseOrder(value), ...parse(history, value) }
}
