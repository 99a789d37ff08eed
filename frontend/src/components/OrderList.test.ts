// @vitest-environment happy-dom
import { createApp, nextTick } from 'vue'
import { expect, it } from 'vitest'
import { shopKey, type Shop } from '../shop/open'
import { freshStores } from '../stores/define'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import OrderList from './OrderList.vue'

it('the list is empty only after the orders have been loaded', async () => {
  freshStores()
  usePreferences().setLang('en')
  const app = createApp(OrderList)
  app.provide(shopKey, {} as Shop)
  const place = document.createElement('div')
  app.mount(place)
  expect(place.querySelector('[role=status]')?.textContent).toBe('Loading…')
  expect(place.textContent).not.toContain('No orders yet')
  useOrders().restart({ orders: [], more: false }, [])
  await nextTick()
  expect(place.querySelector('[role=status]')).toBeNull()
  expect(place.textContent).toContain('No orders yet')
  app.unmount()
})
