/**
 * Measures the page's cost in the browser against another page or a limit: `npm run cost`. Run nothing else on the
 * machine.
 */
import { ENDLESS_BITS, STILL_DOT, soon } from './browser.mjs'
import { test } from './fixtures.mjs'
import { LiveSales } from './livesales.mjs'

const SALES = 20
const WATCH_MS = 1_000
const QUIET_MS = 2_000
const TURNS = 4
/**
 * Budgets of SALES cards at ten ticks per second: the layout time of a tick, and the growth of the heap over LONG_MS.
 * The heap after a garbage collection varies by several percent.
 */
const LAYOUT_MS = 2
const HEAP_GROWTH = 1.1
const LONG_MS = 60_000
/** An older card layout that costs four times as much. It is the reference on the same machine at the same time. */
const NESTED_GRIDS = `
  article { display: grid !important; grid-template: auto 1fr auto / minmax(0, 1fr) !important }
  article .facts { display: grid !important; align-content: start; gap: 4px }
  .grid > li { display: grid !important }
`
/** Options of a MutationObserver. */
const EVERYTHING = { subtree: true, childList: true, attributes: true, characterData: true }

test('cost', async ({ open, shop }) => {
  const page = await open('about:blank', { motion: 'no-preference', relayed: true })
  const sales = new LiveSales(page.relay, SALES)
  await page.goto(shop.base)
  await soon(page.locator('[data-action="buy"]').nth(SALES - 1))
  const meter = await Meter.of(page, sales)

  await test.step(`the layout of ${SALES} cards costs less than half of nested grids`, async () => {
    const [a, b] = await meter.compare(
      NESTED_GRIDS,
      (records) => (records.LayoutDuration / records.ticks) * 1_000,
    )
    console.log(`      layout ${a.toFixed(2)} ms a tick, with nested grids ${b.toFixed(2)} ms`)
    if (!(a < b / 2 && a <= LAYOUT_MS)) throw new Error(`${a} ms a tick, with nested grids ${b} ms`)
  })
  await test.step('labels for screen readers change slowly', async () => {
    const { labels, all } = await meter.changes()
    console.log(`      ${labels} of ${all} changes are labels`)
    if (all < SALES) throw new Error(`${all} changes, want at least ${SALES}`)
    // Labels that follow every tick would be a third of all changes.
    if (labels > all / 6) throw new Error(`${labels} of ${all} changes are labels`)
  })
  await test.step('a tick changes only the cards whose numbers change', async () => {
    sales.simulating = false
    await meter.waitUntilQuiet() // the ticks continue
    const idle = await meter.changedCards()
    if (idle.length > 0) throw new Error(`${idle.length} cards changed without a new number`)
    const [first, , third] = sales.list
    for (const sale of [first, third]) sale.stock--
    const changed = await meter.changedCards()
    if (changed.join() !== [first.id, third.id].join())
      throw new Error(`changed ${changed}, want ${first.id},${third.id}`)
  })
  await test.step('the live dot causes no style recalculations while the page is idle', async () => {
    await meter.waitUntilQuiet()
    const [a, b] = await meter.compare(STILL_DOT, (records) => records.RecalcStyleCount / records.seconds)
    console.log(`      ${a.toFixed(1)} style recalculations a second, with a still dot ${b.toFixed(1)}`)
    if (a > b * 1.5 + 3) throw new Error(`${a} style recalculations a second, with a still dot ${b}`)
  })
  await test.step('nothing moves for a minute, and the memory stays flat for another', async () => {
    sales.simulating = true
    const shifts = await meter.shifts(LONG_MS)
    if (shifts.length > 0) throw new Error(shifts.slice(0, 12).join('\n'))
    // The page now has all samples of the last minute.
    const before = await meter.heap()
    await page.waitForTimeout(LONG_MS)
    const growth = (await meter.heap()) / before
    console.log(`      no layout shifts; heap ${(before / 1e6).toFixed(2)} MB × ${growth.toFixed(3)}`)
    if (growth > HEAP_GROWTH) throw new Error(`the heap of ${before} bytes has grown × ${growth}`)
  })
})

/** The proof of work runs in a worker, so the page stays responsive. */
test('cost of proof of work', async ({ open, shop }) => {
  const page = await open('about:blank', { relayed: true })
  const sales = new LiveSales(page.relay, 1)
  Object.assign(sales.list[0], { pass: true, challenge: 'work' })
  const work = { kind: 'work', id: '1', text: '1', bits: ENDLESS_BITS, until: Date.now() + LONG_MS }
  const required = { error: { code: 'pass_required', message: 'pass required', retry_ms: 0 } }
  page.relay.answer('buy', () => required, { times: Infinity })
  page.relay.answer('pass', () => ({ ok: { challenge: work } }), { times: Infinity })
  await page.goto(shop.base)
  await page.locator('[data-action="buy"][aria-disabled="false"]').click()
  await soon(page.locator('dialog[open]').getByRole('progressbar'))
  const meter = await Meter.of(page, sales)
  await test.step('proof of work does not run on the main thread of the page', async () => {
    const { ScriptDuration, seconds } = await meter.watch()
    console.log(
      `      scripts of the page run for ${((ScriptDuration / seconds) * 100).toFixed(0)} % of the time`,
    )
    if (ScriptDuration / seconds > 0.5) throw new Error(`${ScriptDuration} s in ${seconds} s`)
  })
})

/** Measures the browser's work through its debugger. */
class Meter {
  static async of(page, sales) {
    const meter = new Meter()
    meter.page = page
    meter.debugger = await page.context().newCDPSession(page)
    // Time of the processor: other load does not add to it.
    await meter.debugger.send('Performance.enable', { timeDomain: 'threadTicks' })
    meter.sales = sales
    return meter
  }

  async read() {
    const { metrics } = await this.debugger.send('Performance.getMetrics')
    return { ...Object.fromEntries(metrics.map(({ name, value }) => [name, value])), ticks: this.sales.ticks }
  }

  /** Counters over a few seconds. */
  async watch() {
    const from = await this.read()
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
    const to = await this.read()
    const grown = Object.fromEntries(Object.keys(to).map((name) => [name, to[name] - from[name]]))
    return { ...grown, seconds: WATCH_MS / 1_000 }
  }

  /**
   * Runs `costs` alternately on the page as it is and with another style. The minimum of each counts, because other
   * load only adds to it.
   */
  async compare(style, costs) {
    const minima = [Infinity, Infinity]
    for (let run = 0; run < 2 * TURNS; run++) {
      await this.page.evaluate(
        async (css) => {
          const sheet = new CSSStyleSheet()
          sheet.replaceSync(css)
          document.adoptedStyleSheets = [sheet]
          document.body.getBoundingClientRect()
          // A restarted animation costs frames until the compositor takes it over, which takes longer on a busy
          // machine.
          await Promise.allSettled(document.getAnimations().map(({ ready }) => ready))
        },
        run % 2 === 1 ? style : '',
      )
      minima[run % 2] = Math.min(minima[run % 2], costs(await this.watch()))
    }
    await this.page.evaluate(() => (document.adoptedStyleSheets = []))
    return minima
  }

  /** The used bytes of the heap after a garbage collection. */
  async heap() {
    for (let run = 0; run < 2; run++) await this.debugger.send('HeapProfiler.collectGarbage')
    const { usedSize } = await this.debugger.send('Runtime.getHeapUsage')
    return usedSize
  }

  /** Describes all layout shifts in a time. */
  shifts(ms) {
    return this.page.evaluate(
      (ms) =>
        new Promise((done) => {
          const shifts = []
          new PerformanceObserver((list) => {
            for (const { value, sources } of list.getEntries())
              shifts.push(`${value} ${sources.map(({ node }) => node?.parentElement?.outerHTML).join()}`)
          }).observe({ type: 'layout-shift' })
          setTimeout(() => done(shifts), ms)
        }),
      ms,
    )
  }

  /** The sales whose cards change in a time, which covers several ticks. */
  changedCards() {
    return this.page.evaluate(
      ([ms, everything]) =>
        new Promise((done) => {
          const sales = new Set()
          new MutationObserver((records) => {
            for (const { target } of records)
              sales.add((target.closest ? target : target.parentElement).closest('[data-sale]')?.dataset.sale)
          }).observe(document.querySelector('.grid'), everything)
          setTimeout(() => done([...sales].sort()), ms)
        }),
      [WATCH_MS, EVERYTHING],
    )
  }

  /** Waits until the cards stop changing. Labels for screen readers follow the visible numbers seconds later. */
  waitUntilQuiet() {
    return this.page.evaluate(
      ([ms, everything]) =>
        new Promise((done) => {
          let quiet = setTimeout(done, ms)
          new MutationObserver(() => {
            clearTimeout(quiet)
            quiet = setTimeout(done, ms)
          }).observe(document.querySelector('.grid'), everything)
        }),
      [QUIET_MS, EVERYTHING],
    )
  }

  /** The changes of the cards in a few seconds, and the number of invisible ones. */
  changes() {
    return this.page.evaluate(
      ([ms, everything]) =>
        new Promise((done) => {
          const isHiddenLabel = ({ type, attributeName, target }) =>
            type === 'attributes'
              ? attributeName === 'title' || attributeName.startsWith('aria-')
              : (target.parentElement ?? target).closest('.visually-hidden') !== null
          const records = []
          const observer = new MutationObserver((added) => records.push(...added))
          observer.observe(document.querySelector('.grid'), everything)
          setTimeout(() => {
            records.push(...observer.takeRecords())
            done({ all: records.length, labels: records.filter(isHiddenLabel).length })
          }, ms)
        }),
      [WATCH_MS, EVERYTHING],
    )
  }
}
