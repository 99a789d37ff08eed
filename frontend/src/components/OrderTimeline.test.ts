// @vitest-environment happy-dom
import { createApp } from 'vue'
import { expect, it } from 'vitest'
import { parseOrderDetails } from '../protocol/orderdetails'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { order } from '../testing/samples'
import OrderTimeline from './OrderTimeline.vue'

it('the timeline has a label for each state, also for a later one', () => {
  freshStores()
  usePreferences().setLang('en')
  const states = ['paid', 'refund_asked', 'refund_declined', 'later']
  const details = parseOrderDetails({ ...order(), timeline: states.map((state) => ({ state })) })
  const place = document.createElement('div')
  const app = createApp(OrderTimeline, { order: order(), details })
  app.mount(place)
  const labels = [...place.querySelectorAll('li b')].map((b) => b.textContent)
  expect(labels).toEqual(['Paid', 'Refund requested', 'Refund declined', 'Updated'])
  app.unmount()
})

it('the timeline does not repeat the parcel, which the order above shows', () => {
  freshStores()
  const shipped = { ...order({ state: 'shipped', tracking: 'SF Express SF1' }), carrier: 'SF Express' }
  const details = parseOrderDetails({ ...shipped, timeline: [{ state: 'shipped' }] })
  const place = document.createElement('div')
  const app = createApp(OrderTimeline, { order: shipped, details })
  app.mount(place)
  expect(place.textContent).not.toContain('SF')
  app.unmount()
})
