import { live, soon, until } from './browser.mjs'
import { test } from './fixtures.mjs'

const TICKS = 50

/** Watches the busy shop for some ticks. The words of a button may change, and the order list may grow. */
for (const size of ['desktop', 'phone'])
  test(`screens: changing numbers do not move on a ${size}`, async ({ open, busy: base }) => {
    const page = await open(base, { size })
    let ticks = 0
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('"ev":"tick"')) ticks++
      }),
    )
    await page.reload()
    await live(page)
    await soon(page.locator('[data-stock]').first())
    await until(() => ticks > 2)
    await page.evaluate(() => {
      globalThis.moved = []
      // The reserved width depends on the number of units, which an operator of another test may change.
      const widest = (card) => card?.querySelector('[data-stock]').dataset.widest
      const before = new Map(
        [...document.querySelectorAll('[data-sale]')].map((card) => [card, widest(card)]),
      )
      new PerformanceObserver((list) => {
        for (const { sources } of list.getEntries())
          for (const { node, previousRect, currentRect } of sources) {
            const element = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node
            if (!element || element.closest('[data-action]')) continue
            const card = element.closest('[data-sale]')
            if (widest(card) !== before.get(card)) continue
            const place = ({ x, y, width }) => `${x} ${y} ${width}`
            globalThis.moved.push(
              `${element.outerHTML.slice(0, 120)}: ${place(previousRect)} → ${place(currentRect)}`,
            )
          }
      }).observe({ type: 'layout-shift' })
    })
    const from = ticks
    await until(() => ticks - from >= TICKS / 2)
    await until(() => ticks - from >= TICKS)
    const moved = await page.evaluate(() => globalThis.moved)
    if (moved.length > 0)
      throw new Error(`${moved.length} moved\n${[...new Set(moved)].slice(0, 12).join('\n')}`)
  })
