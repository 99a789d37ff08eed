import { ADDRESS, expectNoProblems, live, reviewPage, scan, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'

/** The number of requests of the page for a code while the server is busy. */
const CODE_TRIES = 2

/** Failures of the payment code sheet. */
test('codes', async ({ open, quiet }) => {
  const page = await open('about:blank', { theme: 'dark', lang: 'zh', address: ADDRESS, relayed: true })
  const { relay } = page
  /** The last code and the last order event from the server. */
  let payment
  let last
  /** If set, the time to pay of new orders, in milliseconds. */
  let payWindow
  relay.edit((frame) => {
    payment = frame.ok?.qr ?? payment
    if (frame.ev !== 'order') return frame
    if (payWindow) frame.order.pay_until = Date.now() + payWindow
    return (last = frame)
  })
  await page.goto(quiet)
  await live(page)
  const checkPage = (what) => reviewPage(page, `codes-${what}`)
  const order = page.locator('.rail [data-order]').first()
  const sheet = page.locator('dialog[open]')
  const code = sheet.getByRole('img')
  const expectReadable = async () => {
    await soon(code)
    const read = await scan(page, code)
    if (read !== payment) throw new Error(`the code contains ${read}, not ${payment}`)
  }
  let bought = 0
  const buyNext = async () => {
    await page.locator('[data-sale] [data-action="buy"][aria-disabled="false"]').first().click()
    await soon(page.locator('.rail [data-order][data-state="pending"]').nth(bought++))
  }

  await test.step('an unavailable gateway is reported, and a click tries again', async () => {
    relay.answer('pay', () => ({ error: { code: 'busy', message: '', retry_ms: 10 } }), { times: CODE_TRIES })
    await buyNext()
    await order.locator('.pay').click()
    await soon(sheet.getByRole('alert'))
    await soon(sheet.locator('.panel > .button'))
    await checkPage('away')
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
    await relay.drain(60_000)
    await soon(sheet.locator('.then').filter({ hasNotText: then }))
    await expectReadable()
    await takeShot(page, 'codes-offline')
    await page.evaluate(() => window.dispatchEvent(new Event('online')))
    await soon(sheet.locator('.then').filter({ hasText: then }))
  })
  await test.step('Escape closes the sheet and restores the focus', async () => {
    // The narrow window had no list, so its Pay is a new button.
    await page.keyboard.press('Escape')
    await soon(sheet, 'hidden')
    await order.locator('.pay').click()
    await soon(code)
    await page.keyboard.press('Escape')
    await soon(sheet, 'hidden')
    await page.waitForFunction(() => document.activeElement.classList.contains('pay'))
  })
  await test.step('Pay is idle on the list and the card after the end of the time to pay', async () => {
    payWindow = 1_000
    await buyNext()
    await soon(order.locator('.pay[aria-disabled="true"]'))
    await soon(order.locator('.deadline').filter({ hasText: '支付已超时' }))
    await soon(page.locator('[data-sale] .button[aria-disabled="true"]').filter({ hasText: '支付已超时' }))
    payWindow = undefined
  })
  await test.step('shows that the time to pay is over', async () => {
    await buyNext()
    await order.locator('.pay').click()
    await expectReadable()
    const expired = { ...last.order, state: 'expired', rev: last.order.rev + 1, cancelled_at: Date.now() }
    relay.send({ ...last, order: expired })
    await soon(sheet.locator('[data-outcome="expired"]'))
    if (await code.isVisible()) throw new Error('the code is still there')
    await checkPage('over')
    await page.keyboard.press('Enter')
    await soon(sheet, 'hidden')
  })
  await test.step('reports no errors', () => expectNoProblems(page))
})
