import { PATIENCE_MS, expectAccessible, expectNoProblems, sizes } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** What the page says of a line that stands still, and how it gets to its first card: the parts. */
export function line(report, browser) {
  return [
    () => stalled(report, browser, 'desktop', 'light'),
    () => stalled(report, browser, 'phone', 'dark'),
    () => firstCard(report, browser),
  ]
}

async function stalled(report, browser, size, theme) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const page = await browser.open(base, size, theme)
  const check = (what, run) => report.check(`line, ${size} ${theme}: ${what}`, run)
  const freshness = (word) =>
    page.waitForFunction((wanted) => document.documentElement.dataset.freshness === wanted, word, {
      timeout: PATIENCE_MS,
    })
  const buy = page.locator('[data-sale] .button:not([disabled]):not([aria-disabled="true"])')

  await check('a line that stands still is not called live, and nothing can be bought on it', async () => {
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await buy.first().waitFor({ timeout: PATIENCE_MS })
    standIn.stall()
    const since = Date.now()
    await freshness('connecting')
    const took = Date.now() - since
    // 3 s after the last word, and what a busy machine adds.
    if (took < 2_500 || took > 6_000) throw new Error(`said so after ${took} ms`)
    if (await page.locator('.live.on').isVisible()) throw new Error('it says Live')
    if ((await buy.count()) > 0) throw new Error('Buy can be pressed')
    await browser.shoot(page, `${size}-${theme}-silent`)
    await expectAccessible(page)
  })
  await check('is live again at the first word, and nothing says otherwise', async () => {
    standIn.resume()
    await freshness('live')
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await page.locator('.banner').waitFor({ state: 'detached', timeout: PATIENCE_MS })
    await buy.first().waitFor({ timeout: PATIENCE_MS })
    await page.getByText(/connection was lost/).waitFor({ state: 'hidden', timeout: PATIENCE_MS })
  })
  await check('a shop in which nothing happens is live', async () => {
    standIn.bustling = false
    await page.waitForTimeout(6_000)
    if (!(await page.locator('.live.on').isVisible())) throw new Error('silence was taken for a loss')
    standIn.bustling = true
  })
  await page.context().close()
  standIn.close()
}

async function firstCard(report, browser) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const check = (what, run) => report.check(`first card: ${what}`, run)

  await check('a skeleton is there before the script, under the security policy', async () => {
    for (const size of Object.keys(sizes)) {
      for (const theme of ['light', 'dark']) {
        const page = await browser.open('about:blank', size, theme)
        await page.route('**/*.js', () => undefined)
        await page.goto(base, { waitUntil: 'commit' })
        const card = page.locator('.bone-card').first()
        await card.waitFor({ timeout: PATIENCE_MS })
        await page.waitForFunction(() => document.querySelector('.bone-card').offsetHeight > 300)
        await browser.shoot(page, `${size}-${theme}-skeleton`)
        expectNoProblems(page)
        await page.context().close()
      }
    }
  })
  await check('comes while the guest is still asked for, and then Buy', async () => {
    let letIn
    standIn.guestsFrom = new Promise((resolve) => (letIn = resolve))
    const page = await browser.open(base, 'desktop', 'light')
    const buy = page.locator('[data-sale] .button').filter({ hasText: 'Buy' }).first()
    await page.locator('[data-sale]').first().waitFor({ timeout: PATIENCE_MS })
    if (await buy.isVisible()) throw new Error('somebody unknown could buy')
    letIn()
    await buy.waitFor({ timeout: PATIENCE_MS })
    expectNoProblems(page)
    await page.context().close()
  })
  await check('hello and watch do not wait for each other', async () => {
    standIn.received.length = 0
    standIn.helloAfter = 1_000
    const page = await browser.open(base, 'desktop', 'light')
    await page.locator('[data-sale]').first().waitFor({ timeout: PATIENCE_MS })
    const [hello, watch] = ['hello', 'watch'].map((op) => standIn.received.find((frame) => frame.op === op))
    if (watch.at - hello.at > 500) throw new Error(`watch came ${watch.at - hello.at} ms after hello`)
    await page.context().close()
  })
  standIn.close()
}
