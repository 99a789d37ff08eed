/**
 * Measures the page's cost in the browser against another page or a limit: `npm run cost`. Run nothing else on the
 * machine.
 */
import { ENDLESS_BITS, STILL_DOT, soon } from './browser.mjs'
import { test } from './fixtures.mjs'

const SALES = 20
const WATCH_MS = 1_000
const QUIET_MS = 2_000
const TURNS = 4
/** An older card layout that costs four times as much. It is the reference on the same machine at the same time. */
const NESTED_GRIDS = `
  article { display: grid !important; grid-template: auto 1fr auto / minmax(0, 1fr) !important }
  article .facts { display: grid !important; align-content: start; gap: 4px }
  .grid > li { display: grid !important }
`
/** Options of a MutationObserver. */
const EVERYTHING = { subtree: true, childList: true, attributes: true, characterData: true }

test.use({ load: { sales: SALES, buyersMs: 250, tickMs: 100 } }) // ticks as on a real server

test('cost', async ({ open, standIn }) => {
  const page = await open(standIn.base, { motion: 'no-preference' })
  await soon(page.locator('[data-action="buy"]').nth(SALES - 1))
  const meter = await Meter.of(page)

  await test.step(`the layout of ${SALES} cards costs less than half of nested grids`, async () => {
    const [a, b] = await meter.compare(
      NESTED_GRIDS,
      (records) => (records.LayoutDuration / records.ticks) * 1_000,
    )
    console.log(`      layout ${a.toFixed(2)} ms a tick, with nested grids ${b.toFixed(2)} ms`)
    if (!(a < b / 2)) throw new Error(`${a} ms a tick, with nested grids ${b} ms`)
  })
  await test.step('labels for screen readers change slowly', async () => {
    const { labels, all } = await meter.changes()
    console.log(`      ${labels} of ${all} changes are labels`)
    if (all < SALES) throw new Error(`${all} changes, want at least ${SALES}`)
    // Labels that follow every tick would be a third of all changes.
    if (labels > all / 6) throw new Error(`${labels} of ${all} changes are labels`)
  })
  await test.step('the live dot causes no style recalculations while the page is idle', async () => {
    standIn.simulating = false
    await meter.waitUntilQuiet()
    const [a, b] = await meter.compare(STILL_DOT, (records) => records.RecalcStyleCount / records.seconds)
    console.log(`      ${a.toFixed(1)} style recalculations a second, with a still dot ${b.toFixed(1)}`)
    if (a > b * 1.5 + 3) throw new Error(`${a} style recalculations a second, with a still dot ${b}`)
  })
})

/** The proof of work runs in a worker, so the page stays responsive. */
test('cost of proof of work', async ({ open, standIn }) => {
  const { base, shop } = standIn
  const [sale] = [...shop.sales.values()].filter(({ slot }) => slot === shop.current().id)
  shop.bits = ENDLESS_BITS
  Object.assign(sale, { pass: true, challenge: 'work' })
  const page = await open(base)
  await page.locator(`[data-sale="${sale.id}"] [data-action="buy"][aria-disabled="false"]`).click()
  await soon(page.locator('dialog[open]').getByRole('progressbar'))
  const meter = await Meter.of(page)
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
  static async of(page) {
    const meter = new Meter()
    meter.page = page
    meter.debugger = await page.context().newCDPSession(page)
    await meter.debugger.send('Performance.enable')
    meter.ticks = 0
    await meter.debugger.send('Network.enable')
    meter.debugger.on('Network.webSocketFrameReceived', ({ response }) => {
      if (response.payloadData.includes('"ev":"tick"')) meter.ticks++
    })
    return meter
  }

  async read() {
    const { metrics } = await this.debugger.send('Performance.getMetrics')
    return { ...Object.fromEntries(metrics.map(({ name, value }) => [name, value])), ticks: this.ticks }
  }

  /** Counters over a few seconds. */
  async watch() {
    const from = await this.read()
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
    const to = await this.read()
    const grown = Object.fromEntries(Object.keys(to).map((name) => [name, to[name] - from[name]]))
    return { ...grown, seconds: grown.Timestamp }
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
