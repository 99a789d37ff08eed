// @vitest-environment happy-dom
import { createApp, type App } from 'vue'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseOrderDetails } from '../protocol/orderdetails'
import type { Order } from '../protocol/types'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import OrderTimeline from './OrderTimeline.vue'

let app: App

/** Shows the history of an order. */
function show(states: string[], over: Partial<Order> & { carrier?: string } = {}): HTMLElement {
  const details = parseOrderDetails({ ...order(), ...over, timeline: states.map((state) => ({ state })) })
  const place = document.createElement('div')
  app = createApp(OrderTimeline, { details })
  app.mount(place)
  return place
}

beforeEach(() => {
  freshStores()
  usePreferences().setLang('en')
})

afterEach(() => app.unmount())

it('the timeline has a label for each state, also for a later one', () => {
  const place = show(['paid', 'refund_asked', 'refund_declined', 'later'])
  const labels = [...place.querySelectorAll('li b')].map((b) => b.textContent)
  expect(labels).toEqual(['Paid', 'Refund requested', 'Refund declined', 'Updated'])
})

it('the timeline does not repeat the parcel, which the order above shows', () => {
  const place = show(['shipped'], { state: 'shipped', tracking: 'SF Express SF1', carrier: 'SF Express' })
  expect(place.textContent).toBe('HistoryShipped')
})
