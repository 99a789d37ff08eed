import { live, soon, until } from './browser.mjs'
import { test } from './fixtures.mjs'
import { LiveSales } from './livesales.mjs'

const SALES = 8
const TICKS = 50

/** The words of a button may change; nothing else moves while the numbers of a slot change. */
for (const size of ['desktop', 'phone'])
  test(`screens: changing numbers do not move on a ${size}`, async ({ open, quiet: base }) => {
    const page = await open('about:blank', { size, relayed: true })
    const sales = new LiveSales(page.relay, SALES)
    await page.goto(base)
    await live(page)
    await soon(page.locator('[data-stock]').nth(SALES - 1))
    const numbers = () => page.locator('[data-stock]').allInnerTexts()
    const first = await numbers()
    await until(async () => (await numbers()).join() !== first.join())
    await page.evaluate(() => {
      globalThis.moved = []
      new PerformanceObserver((list) => {
        for (const { sources } of list.getEntries())
          for (const { node, previousRect, currentRect } of sources) {
            const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node
            if (!element || element.closest('[data-action]')) continue
            const place = ({ x, y, width }) => `${x} ${y} ${width}`
            globalThis.moved.push(
              `${element.outerHTML.slice(0, 120)}: ${place(previousRect)} → ${place(currentRect)}`,
            )
          }
      }).observe({ type: 'layout-shift' })
    })
    const from = sales.ticks
    await until(() => sales.ticks - from >= TICKS)
    if ((await numbers()).join() === first.join()) throw new Error('the numbers did not change')
    const moved = await page.evaluate(() => globalThis.moved)
    if (moved.length > 0)
      throw new Error(`${moved.length} moved\n${[...new Set(moved)].slice(0, 12).join('\n')}`)
  })
