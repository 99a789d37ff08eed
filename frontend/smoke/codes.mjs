import {
  PATIENCE_MS,
  expectAccessible,
  expectNoProblems,
  expectNoSideways,
  scan,
  secondsLeft,
} from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** The sheet with the code to scan when not all goes well, brought about on the stand-in, in both languages: the parts. */
export function codes(report, browser) {
  return [() => scanned(report, browser, 'en', 'light'), () => scanned(report, browser, 'zh', 'dark')]
}

async function scanned(report, browser, lang, theme) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const { shop } = standIn
  // Longer than all of this takes on a machine that is busy.
  shop.payWindow = 600_000
  const page = await browser.open(base, 'desktop', theme)
  const check = (what, run) => report.check(`codes, ${lang} ${theme}: ${what}`, run)
  const shoot = (what) => browser.shoot(page, `codes-${lang}-${theme}-${what}`)
  const order = page.locator('.rail [data-order]').first()
  const sheet = page.locator('dialog[open]')
  const code = sheet.getByRole('img')
  const soon = (locator, state = 'visible') => locator.waitFor({ state, timeout: PATIENCE_MS })
  const readable = async () => {
    await soon(code)
    const read = await scan(page, code)
    const wanted = `https://pay.example/${await order.getAttribute('data-order')}`
    if (read !== wanted) throw new Error(`the code says ${read}, not ${wanted}`)
  }

  await check('a gateway without an answer is told, and asked again by a press', async () => {
    if (lang === 'zh') await page.locator('.lang').click()
    shop.gatewayAway = true
    await page.locator('[data-sale] [data-does="buy"]').first().click({ timeout: PATIENCE_MS })
    await order.locator('.pay').click({ timeout: PATIENCE_MS })
    await soon(sheet.getByRole('alert'))
    await soon(sheet.locator('.panel > .button'))
    await shoot('away')
    await expectAccessible(page)
    shop.gatewayAway = false
    await sheet.locator('.square button').click()
    await readable()
  })
  await check('counts to what the trade ends at, ten seconds before the order does', async () => {
    const [ofOrder, ofTrade] = await Promise.all([order, sheet].map(secondsLeft))
    const ahead = ofOrder - ofTrade
    if (ahead < 9 || ahead > 11) throw new Error(`${ahead} s before the order`)
  })
  await check('keeps the code in a narrow window', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await readable()
    await shoot('narrow')
    await expectAccessible(page)
    await expectNoSideways(page)
    await page.setViewportSize({ width: 1440, height: 900 })
  })
  await check('keeps the code while the connection is lost, and says that it is', async () => {
    const then = await sheet.locator('.then').innerText()
    standIn.drain(3_000)
    await soon(sheet.locator('.then').filter({ hasNotText: then }))
    await readable()
    await shoot('offline')
    await soon(sheet.locator('.then').filter({ hasText: then }))
  })
  await check('Escape closes it, and the focus is where it was', async () => {
    await page.keyboard.press('Escape')
    await soon(sheet, 'hidden')
    const pay = await page.evaluate(() => document.activeElement.classList.contains('pay'))
    if (!pay) throw new Error('the focus is elsewhere')
  })
  await check('says when the time to pay is over', async () => {
    await page.locator('[data-sale] [data-does="buy"]').first().click({ timeout: PATIENCE_MS })
    await soon(page.locator('.rail [data-order]').nth(1))
    await order.locator('.pay').click({ timeout: PATIENCE_MS })
    await readable()
    shop.expire()
    await soon(sheet.locator('[data-outcome="expired"]'))
    if (await code.isVisible()) throw new Error('the code is still there')
    await shoot('over')
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await soon(sheet, 'hidden')
  })
  await check('reports no errors', () => expectNoProblems(page))
  await page.context().close()
  standIn.close()
}
