import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways, until } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** More work than a browser does while this runs. */
const ENDLESS_BITS = 31

/** What comes between a press of Buy and the shop, in both languages: its parts. */
export function challenge(report, browser) {
  return [
    () => challenged(report, browser, 'phone', 'light', 'en'),
    () => challenged(report, browser, 'desktop', 'dark', 'zh'),
  ]
}

async function challenged(report, browser, size, theme, lang) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const { shop } = standIn
  const [free, work, hard, picture] = [...shop.sales.values()].filter((s) => s.slot === shop.current().id)
  Object.assign(free, { pass: true })
  Object.assign(work, { pass: true, challenge: 'work' })
  Object.assign(picture, { pass: true, challenge: 'captcha' })
  const page = await browser.open(base, size, theme)
  if (lang === 'zh') await page.locator('.lang').click()
  const check = (what, run) => report.check(`challenge, ${size} ${theme} ${lang}: ${what}`, run)
  const shoot = (what) => browser.shoot(page, `challenge-${size}-${theme}-${lang}-${what}`)
  const card = (sale) => page.locator(`[data-sale="${sale.id}"]`)
  const button = (sale) => card(sale).locator('[data-does]')
  const becomes = (sale, does) =>
    card(sale).locator(`[data-does="${does}"][aria-disabled="false"]`).waitFor({ timeout: PATIENCE_MS })
  const dialog = page.locator('dialog[open]')
  const soon = (locator, state = 'visible') => locator.waitFor({ state, timeout: PATIENCE_MS })
  const passes = (op) => standIn.received.filter((frame) => frame.op === op)
  const inSight = (sale) => card(sale).evaluate((el) => el.scrollIntoView({ block: 'center' }))

  await check('a pass that costs nothing is there before the press: one tap, one buy', async () => {
    await becomes(free, 'buy')
    await inSight(free)
    await soon(card(free).locator('.pass .ready'))
    await shoot('ready')
    await expectAccessible(page)
    await button(free).click()
    await becomes(free, 'pay')
    const [buy, ...more] = passes('buy')
    if (!buy.pass || more.length > 0) throw new Error(`${1 + more.length} buys, the first with ${buy.pass}`)
    if (await dialog.isVisible()) throw new Error('a sheet was there')
  })
  await check('work is done ahead beside the page: one tap', async () => {
    await inSight(work)
    await soon(card(work).locator('.pass .ready'))
    await button(work).click()
    await becomes(work, 'pay')
    const solved = passes('solve').find(({ sale }) => sale === work.id)
    if (!/^\d+$/.test(solved?.answer ?? '')) throw new Error('nothing was solved')
  })
  await check('hard work shows how far it is, holds nothing up, and can be given up', async () => {
    shop.bits = ENDLESS_BITS
    shop.change(hard.id, { pass: true, challenge: 'work' })
    await inSight(hard)
    await button(hard).click()
    await soon(dialog.getByRole('progressbar'))
    const busy = await scriptShare(page, 1_000)
    if (busy > 0.5) throw new Error(`the page itself computes for ${busy} of the time`)
    await shoot('work')
    await expectAccessible(page)
    await expectNoSideways(page)
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await becomes(hard, 'buy')
    await shoot('given-up')
    const focus = await page.evaluate(() => document.activeElement.closest('[data-sale]')?.dataset.sale)
    if (focus !== hard.id) throw new Error(`the focus is on ${focus}`)
    shop.bits = 12
  })
  await check('a picture is asked for, a wrong answer told, and the press goes on', async () => {
    await inSight(picture)
    await button(picture).click()
    await soon(dialog.locator('img'))
    await page.waitForFunction(() => document.activeElement.name === 'captcha')
    await shoot('picture')
    await expectAccessible(page)
    await expectNoSideways(page)
    await page.keyboard.type('00000')
    await page.keyboard.press('Enter')
    await soon(dialog.locator('.problem:not(:empty)'))
    await soon(dialog.locator('img'))
    await shoot('picture-wrong')
    const before = standIn.accounts.newest
    await dialog.locator('.captcha button').click()
    await page.waitForFunction(() => document.querySelector('.captcha img'))
    await until(() => standIn.accounts.newest !== before)
    await soon(dialog.locator('img'))
    await dialog.locator('[name=captcha]').fill(standIn.accounts.newest)
    await page.keyboard.press('Enter')
    await soon(dialog, 'hidden')
    await becomes(picture, 'pay')
  })
  await check('who wants can read the picture before the opening, and then it is one tap', async () => {
    const next = shop.slots[shop.slots.indexOf(shop.current()) + 1]
    const sale = [...shop.sales.values()].find((s) => s.slot === next.id)
    const opensIn = (ms) => {
      shop.endCurrentIn(ms)
      shop.tellSlots()
      shop.change(sale.id, { pass: true, challenge: 'captcha' })
    }
    opensIn(30_000) // passes are given from a minute before
    await page.locator('nav .upcoming').first().click()
    await inSight(sale)
    await card(sale).locator('.pass button').click({ timeout: PATIENCE_MS })
    await soon(dialog.locator('img'))
    await shoot('early')
    await dialog.locator('[name=captcha]').fill(standIn.accounts.newest)
    await page.keyboard.press('Enter')
    await soon(card(sale).locator('.pass .ready'))
    opensIn(1_000)
    await becomes(sale, 'buy')
    standIn.received.length = 0
    await button(sale).click()
    await becomes(sale, 'pay')
    if (passes('buy').length !== 1) throw new Error(`${passes('buy').length} buys`)
  })
  await check('reports no errors', () => expectNoProblems(page))
  await page.context().close()
  standIn.close()
}

/** How much of some milliseconds the page's own thread runs scripts; what its worker does is not part of it. */
async function scriptShare(page, ms) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return Object.fromEntries(metrics.map(({ name, value }) => [name, value]))
  }
  const from = await read()
  await page.waitForTimeout(ms)
  const to = await read()
  return (to.ScriptDuration - from.ScriptDuration) / (to.Timestamp - from.Timestamp)
}
