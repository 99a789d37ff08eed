// @vitest-environment happy-dom
import { createApp, h, nextTick, shallowRef, type App } from 'vue'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { at } from '../testing/clock'
import { sale } from '../testing/samples'
import SaleClock from './SaleClock.vue'

const OPENS = 100_000
const CLOSES = 400_000
const shown = shallowRef(sale())
let app: App

beforeEach(() => {
  vi.useFakeTimers()
  freshStores()
  usePreferences().setLang('en')
  shown.value = sale({ opens_at: OPENS, closes_at: CLOSES })
  app = createApp(() => h(SaleClock, { sale: shown.value }))
  app.mount(document.body.appendChild(document.createElement('div')))
})

afterEach(() => {
  app.unmount()
  document.body.replaceChildren()
  vi.useRealTimers()
})

/** The heading and the time at an instant of the server's clock. */
async function textAt(now: number): Promise<string> {
  at(now)
  await nextTick()
  const heading = document.querySelector('span')?.textContent ?? ''
  return [heading, document.querySelector('[role=timer]')?.textContent].join(' ').trim()
}

it('counts down to the opening and then to the end of the sale, in tenths at last', async () => {
  expect(await textAt(OPENS - 60_000)).toBe('Opens in 01:00')
  expect(await textAt(OPENS)).toBe('Closes in 05:00')
  expect(await textAt(CLOSES - 9_400)).toBe('Closes in 9.4')
  expect(await textAt(CLOSES - 1)).toBe('Closes in 0.1')
  expect(await textAt(CLOSES)).toBe('Closed')
})

it('follows an end that an operator changes', async () => {
  shown.value = sale({ opens_at: OPENS, closes_at: CLOSES - 120_000 })
  expect(await textAt(OPENS)).toBe('Closes in 03:00')
  shown.value = sale({ opens_at: OPENS, closes_at: CLOSES, phase: 'closed' })
  expect(await textAt(OPENS)).toBe('Closed')
})

it('shows that the sale is paused; the sale still ends', async () => {
  shown.value = sale({ opens_at: OPENS, closes_at: CLOSES, paused: true })
  expect(await textAt(OPENS)).toBe('Paused · Closes in 05:00')
  expect(await textAt(CLOSES)).toBe('Closed')
})
