// @vitest-environment happy-dom
import type uPlot from 'uplot'
import { createApp, h, nextTick, type App, type Component } from 'vue'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../../src/stores/define'
import { usePreferences } from '../../src/stores/preferences'
import TimeChart from '../board/TimeChart.vue'
import EntryList from '../journal/EntryList.vue'
import ReportPage from '../report/ReportPage.vue'
import ConsoleBar from '../shell/ConsoleBar.vue'
import { useShopClock } from './shopclock'

/** The browser is in New York; the shop is in Shanghai, thirteen hours ahead. */
const BROWSER = 'America/New_York'
const SHOP = 'Asia/Shanghai'
const OPENS = Date.parse('2026-11-21T02:00:00Z')
const CLOSES = OPENS + 7_200_000

const { plots, side } = vi.hoisted(() => ({
  plots: [] as uPlot.Options[],
  side: { initial: 1, added: 0, stock: 1, held: 0, sold: 0, withdrawn: 0 },
}))
vi.mock('uplot', () => ({
  default: class {
    static paths = {}
    constructor(options: uPlot.Options) {
      plots.push(options)
    }
    destroy(): void {}
  },
}))
vi.mock('../api', () => ({
  useApi: () => ({ journal: () => Promise.resolve({ items: [entry], more: false }) }),
}))
vi.mock('../aftersale/api', () => ({ useAftersaleApi: () => ({ report: () => Promise.resolve(report) }) }))

const entry = {
  seq: 1,
  at: OPENS + 7_000,
  kind: 'sale.end',
  object: 'sale:1',
  before: { closes_at: CLOSES },
  after: { closes_at: OPENS + 7_000 },
}
const report = {
  ...{ sale: '1', product: 'Kettle', price_fen: 100, opens_at: OPENS, closes_at: CLOSES, at: CLOSES + 5_000 },
  ...{
    seconds: [{ at: OPENS, orders: 3, units: 3 }],
    minutes: [{ at: OPENS, orders: 3, units: 3 }],
    peak: 3,
  },
  ...{ states: [], money: { paid_fen: 0, refunded_fen: 0, refunding_fen: 0, net_fen: 0 } },
  balance: { redis: side, database: side, loaded: true, waiting: 0, failures: [] },
}

const zoneBefore = process.env.TZ
let app: App | undefined

async function show(page: Component, props: Record<string, unknown> = {}): Promise<string> {
  app = createApp(() => h(page, props))
  app.mount(document.body.appendChild(document.createElement('div')))
  await vi.waitFor(() => expect(document.body.textContent).not.toContain('Loading…'))
  await nextTick()
  return document.body.textContent
}

/** The label of a plot's time axis at an instant. */
function onAxis(plot: uPlot.Options | undefined, at: number): unknown {
  const values = plot?.axes?.[0]?.values
  return typeof values === 'function' ? values({} as uPlot, [at / 1_000], 0, 0, 0) : undefined
}

beforeAll(() => {
  process.env.TZ = BROWSER
})
afterAll(() => {
  if (zoneBefore === undefined) delete process.env.TZ
  else process.env.TZ = zoneBefore
})
beforeEach(() => {
  plots.length = 0
  freshStores()
  usePreferences().setLang('en')
})
afterEach(() => {
  app?.unmount()
  document.body.replaceChildren()
})

describe('in a browser with another time zone', () => {
  it("the browser's time zone is used until the shop's time zone is loaded", () => {
    expect(new Date(OPENS).getHours()).toBe(21)
    expect(useShopClock().instant(OPENS)).toBe('2026-11-20 21:00:00')
    useShopClock().setZone(SHOP)
    expect(useShopClock().instant(OPENS)).toBe('2026-11-21 10:00:00')
    expect(useShopClock().planned(OPENS)).toBe('2026-11-21 10:00')
    expect(useShopClock().time(OPENS + 7_000)).toBe('10:00:07')
  })

  it('the console shows the name of its time zone', async () => {
    useShopClock().setZone(SHOP)
    expect(await show(ConsoleBar)).toContain('Times in Asia/Shanghai')
  })

  it("the journal and the changes of an operation use the shop's time zone", async () => {
    useShopClock().setZone(SHOP)
    expect(await show(EntryList, { limit: 10 })).toContain('2026-11-21 10:00:07')
    document.querySelector<HTMLButtonElement>('button.open')?.click()
    await nextTick()
    expect(document.querySelector('.detail')?.textContent).toContain('2026-11-21 12:00:00')
    expect(document.body.textContent).not.toMatch(/2026-11-20|2[123]:00/)
  })

  it("the report and its axes use the shop's time zone", async () => {
    useShopClock().setZone(SHOP)
    const text = await show(ReportPage, { pathRest: '1' })
    expect(text).toContain('2026-11-21 10:00 – 12:00')
    expect(text).toContain('2026-11-21 12:00:05')
    const [opening, course] = plots
    expect(onAxis(opening, OPENS)).toEqual(['10:00:00'])
    expect(onAxis(course, OPENS)).toEqual(['10:00'])
  })

  it("the charts of the board use the shop's time zone", async () => {
    useShopClock().setZone(SHOP)
    await show(TimeChart, { title: 'Buys', at: [OPENS], lines: [], until: OPENS, span: 900_000 })
    expect(onAxis(plots[0], OPENS)).toEqual(['10:00'])
  })
})
