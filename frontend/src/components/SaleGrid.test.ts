// @vitest-environment happy-dom
import { createApp, h, nextTick } from 'vue'
import { expect, it, vi } from 'vitest'
import { router } from '../router'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { useSales } from '../stores/sales'
import { useSlots } from '../stores/slots'
import { sale, slot } from '../testing/samples'
import SaleFilter from './SaleFilter.vue'
import SaleGrid from './SaleGrid.vue'

vi.mock('./SaleCard.vue', () => ({ default: { render: () => null } }))

it('a category without sales stays an option; Show all keeps the day and moves the focus', async () => {
  freshStores()
  usePreferences().setLang('en')
  useSlots().replace([slot()])
  useSales().replaceSlot('1', [sale()])
  await router.push('/?day=2026-11-11&category=Garden')
  const app = createApp(() => h('main', { tabindex: -1 }, [h(SaleFilter), h(SaleGrid)]))
  app.mount(document.body.appendChild(document.createElement('div')))
  await nextTick()
  const options = [...document.querySelectorAll('option')].map(({ value }) => value)
  expect(options).toEqual(expect.arrayContaining(['Garden', 'Kitchen']))
  expect(document.querySelector('select')?.value).toBe('Garden')

  document.querySelector<HTMLButtonElement>('.none button')?.click()
  await vi.waitFor(() => expect(router.currentRoute.value.query).toEqual({ day: '2026-11-11' }))
  expect(document.activeElement?.localName).toBe('main')
  app.unmount()
})
