import { StandIn } from './standin/server.mjs'

const SOON_MS = 10_000
const SALES = 20
const WATCH_MS = 3_000
/** The cards as they once were, which cost four times as much: a yardstick of the same machine at the same moment. */
const NESTED_GRIDS = `
  article { display: grid !important; grid-template: auto 1fr auto / minmax(0, 1fr) !important }
  article .facts { display: grid !important; align-content: start; gap: 4px }
  .grid > li { display: grid !important }
`
const STILL_DOT = '.live i::after { animation: none !important }'

/** What the page costs the browser, compared with another page on the same machine at the same moment. */
export async function cost(report, browser) {
  const standIn = new StandIn(SALES)
  const base = await standIn.start()
  const page = await browser.open(base, 'desktop', 'light')
  await page
    .locator('[data-does="buy"]')
    .nth(SALES - 1)
    .waitFor({ timeout: SOON_MS })
  const meter = await Meter.of(page)

  await report.check(
    `cost: a tick of ${SALES} cards is laid out for less than half of what nested grids cost`,
    async () => {
      const [now, then] = await meter.compare(NESTED_GRIDS)
      const [a, b] = [now, then].map(({ LayoutDuration, ticks }) => (LayoutDuration / ticks) * 1_000)
      console.log(`      layout ${a.toFixed(2)} ms a tick, with nested grids ${b.toFixed(2)} ms`)
      if (!(a < b / 2)) throw new Error(`${a} ms a tick, with nested grids ${b} ms`)
    },
  )
  await report.check('cost: labels that are only read out change slowly', async () => {
    const { labels, all } = await meter.changes()
    console.log(`      ${labels} of ${all} changes are labels`)
    if (all < SALES) throw new Error(`only ${all} changes: nothing moved`)
    if (labels > all / 10) throw new Error(`${labels} of ${all} changes are labels`)
  })
  await report.check('cost: the live dot costs nothing while nothing happens', async () => {
    standIn.bustling = false
    const [beating, still] = await meter.compare(STILL_DOT)
    const [a, b] = [beating, still].map(({ RecalcStyleCount, seconds }) => RecalcStyleCount / seconds)
    console.log(`      ${a.toFixed(1)} style recalculations a second, with a still dot ${b.toFixed(1)}`)
    if (a > b * 1.5 + 3) throw new Error(`${a} style recalculations a second, with a still dot ${b}`)
  })
  await page.context().close()
  standIn.close()
}

/** Counts what the browser does, through its debugger. */
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

  /** What happens in a few seconds. */
  async watch() {
    const from = await this.read()
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
    const to = await this.read()
    const grown = Object.fromEntries(Object.keys(to).map((name) => [name, to[name] - from[name]]))
    return { ...grown, seconds: grown.Timestamp }
  }

  /** The page as it is and with another style, in turns so that a busy moment of the machine meets both. */
  async compare(style) {
    const sums = [{}, {}]
    for (const turn of [0, 1, 0, 1]) {
      await this.page.evaluate(
        (css) => {
          const sheet = new CSSStyleSheet()
          sheet.replaceSync(css)
          document.adoptedStyleSheets = [sheet]
          document.body.getBoundingClientRect()
        },
        turn === 1 ? style : '',
      )
      const seen = await this.watch()
      for (const name of Object.keys(seen)) sums[turn][name] = (sums[turn][name] ?? 0) + seen[name]
    }
    await this.page.evaluate(() => (document.adoptedStyleSheets = []))
    return sums
  }

  /** The changes of the cards in a few seconds, and how many of them nobody sees. */
  changes() {
    return this.page.evaluate(
      (ms) =>
        new Promise((done) => {
          const unseen = ({ type, attributeName, target }) =>
            type === 'attributes'
              ? attributeName === 'title' || attributeName.startsWith('aria-')
              : (target.parentElement ?? target).closest('.unseen') !== null
          const seen = []
          const observer = new MutationObserver((records) => seen.push(...records))
          observer.observe(document.querySelector('.grid'), {
            subtree: true,
            childList: true,
            attributes: true,
            characterData: true,
          })
          setTimeout(() => {
            seen.push(...observer.takeRecords())
            done({ all: seen.length, labels: seen.filter(unseen).length })
          }, ms)
        }),
      WATCH_MS,
    )
  }
}
