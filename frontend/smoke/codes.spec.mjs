import { expectNoProblems, reviewPage, scan, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'

/** Failures of the payment code sheet, on the stand-in server. */
test('codes', async ({ open, standIn }) => {
  const { base, shop } = standIn
  shop.payWindow = 600_000 // longer than all checks together
  const page = await open(base, { theme: 'dark', lang: 'zh' })
  const checkPage = (what) => reviewPage(page, `codes-${what}`)
  const order = page.locator('.rail [data-order]').first()
  const sheet = page.locator('dialog[open]')
  const code = sheet.getByRole('img')
  const expectReadable = async () => {
    await soon(code)
    const read = await scan(page, code)
    const wanted = `https://pay.example/${await order.getAttribute('data-order')}`
    if (read !== wanted) throw new Error(`the code contains ${read}, not ${wanted}`)
  }

  await test.step('an unavailable gateway is reported, and a click tries again', async () => {
    shop.gatewayAway = true
    await page.locator('[data-sale] [data-action="buy"]').first().click()
    await order.locator('.pay').click()
    await soon(sheet.getByRole('alert'))
    await soon(sheet.locator('.panel > .button'))
    await checkPage('away')
    shop.gatewayAway = false
    await sheet.locator('.square button').click()
    await expectReadable()
  })
  await test.step('keeps the code in a narrow window', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await expectReadable()
    await checkPage('narrow')
    await page.setViewportSize({ width: 1440, height: 900 })
  })
  await test.step('keeps the code while the connection is lost, and reports the lost connection', async () => {
    const then = await sheet.locator('.then').innerText()
    standIn.drain(5_000)
    await soon(sheet.locator('.then').filter({ hasNotText: then }))
    await expectReadable()
    await takeShot(page, 'codes-offline')
    await soon(sheet.locator('.then').filter({ hasText: then }))
  })
  await test.step('Escape closes the sheet and restores the focus', async () => {
    await page.keyboard.press('Escape')
    await soon(sheet, 'hidden')
    const pay = await page.evaluate(() => document.activeElement.classList.contains('pay'))
    if (!pay) throw new Error('the focus is not on Pay')
  })
  await test.step('Pay is idle on the list and the card after the end of the time to pay', async () => {
    shop.payWindow = 1_000
    shop.margin = 600_000
    await page.locator('[data-sale] [data-action="buy"]').first().click()
    await soon(page.locator('.rail [data-order]').nth(1))
    await soon(order.locator('.pay[aria-disabled="true"]'))
    await soon(order.locator('.deadline').filter({ hasText: '支付已超时' }))
    await soon(page.locator('[data-sale] .button[aria-disabled="true"]').filter({ hasText: '支付已超时' }))
    shop.payWindow = 600_000
    shop.margin = 0
  })
  await test.step('shows that the time to pay is over', async () => {
    await page.locator('[data-sale] [data-action="buy"]').first().click()
    await soon(page.locator('.rail [data-order]').nth(1))
    await order.locator('.pay').click()
    await expectReadable()
    shop.expire()
    await soon(sheet.locator('[data-outcome="expired"]'))
    if (await code.isVisible()) throw new Error('the code is still there')
    await checkPage('over')
    await page.keyboard.press('Enter')
    await soon(sheet, 'hidden')
  })
  await test.step('reports no errors', () => expectNoProblems(page))
})
