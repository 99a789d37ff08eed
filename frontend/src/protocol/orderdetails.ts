import { list, number, object, optional, parse, text } from './fields'
import type { components } from './generated/http'
import { parseOrder } from './parse'
import type { Order } from './types'

type Http = components['schemas']
export type TimelineState = Http['TimelineState']
/** A later version may add a state. */
type OrderStep = Omit<Http['TimelineStep'], 'state'> & { readonly state: string }
interface History {
  readonly timeline: readonly OrderStep[]
}

/** An order with its history, for the page of the order. */
export type OrderDetails = History & { readonly order: Order }

const history = object<History>({
  timeline: list(object<OrderStep>({ state: text, at: optional(number) })),
})

export function parseOrderDetails(value: unknown): OrderDetails {
  return { order: parseOrder(value), ...parse(history, value) }
}
