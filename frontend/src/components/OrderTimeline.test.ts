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
