import { expectNoProblems, live, secondsLeft, soon } from './browser.mjs'
import { stampede } from './program.mjs'

/** A shop without guests: the login is requested by the buy, which then continues. */
export async function loginToBuy(report, browser, base, data) {
  const check = (what, run) => report.check(`buying, login: ${what}`, run)
  const [email, password] = ['buyer@shop.example', 'a sentence that nobody guesses']
  const token = (await stampede(data, ['token', '--user', '1', '--role', 'admin'])).trim()
  const account = ['user', 'add', email, '--role', 'shopper', '--password']
  await stampede(data, account, password, { STAMPEDE_URL: base, STAMPEDE_TOKEN: token })
  const page = await browser.open('about:blank', { size: 'phone' })
  await page.route('**/api/v1/auth/guest', (route) =>
    route.fulfill({ status: 403, json: { error: { code: 'forbidden', message: 'no guests' } } }),
  )
  await page.goto(base)
  const button = page.locator('[data-sale] [data-action="login"]').first()
  const dialog = page.locator('dialog[open]')

  await check('the page offers a login and no commands', async () => {
    await soon(page.getByRole('heading', { name: 'Log in or create an account to buy' }))
    await soon(button.filter({ hasText: 'Log in to buy' }))
    if (/stampede|token/.test(await page.locator('main').innerText()))
      throw new Error('the page shows a command')
    await browser.checkPage(page, 'buying-no-guests')
  })
  await check('Log in to buy opens the sheet, and the buy continues after the login', async () => {
    const sale = await button.evaluate((element) => element.closest('[data-sale]').dataset.sale)
    await button.click()
    await soon(dialog.locator('.note').filter({ hasText: 'Then your purchase of' }))
    await browser.checkPage(page, 'buying-login')
    await dialog.locator('[name=email]').fill(email)
    await dialog.locator('[name=password]').fill(password)
    await dialog.locator('[type=submit]').click()
    await soon(dialog, 'hidden')
    await soon(page.locator(`[data-sale="${sale}"] [data-action="pay"]`))
  })
}

/** The delivery address is requested before the payment, and can be changed afterwards. */
export async function delivery(report, browser, base, look) {
  const check = (what, run) => report.check(`buying, delivery, ${look.size}: ${what}`, run)
  const shoot = (what) => browser.checkPage(page, `buying-${look.size}-${look.theme}-${what}`)
  const page = await browser.open(base, look)
  const onPhone = look.size === 'phone'
  const dialog = page.locator('dialog[open]')
  const order = page.locator('[data-order]').filter({ visible: true }).first()
  let card

  await check('Pay requests the address while the time to pay runs', async () => {
    await live(page)
    const buy = page.locator('[data-sale] [data-action="buy"][aria-disabled="false"]').first()
    card = page.locator(`[data-sale="${await buy.evaluate((b) => b.closest('[data-sale]').dataset.sale)}"]`)
    await buy.click()
    await card.locator('[data-action="pay"][aria-disabled="false"]').click()
    await soon(dialog.locator('[name=text]'))
    await soon(dialog.locator('[data-deadline]'))
    await shoot('address')
  })
  await check('a new address is stored and leads to the payment', async () => {
    await dialog.locator('[name=name]').fill('Li Lei')
    await dialog.locator('[name=phone]').fill('13800000000')
    await dialog.locator('[name=text]').fill('1 Main Street')
    await dialog.locator('[type=submit]').click()
    if (onPhone) return page.waitForURL(/\/cashier\//)
    await soon(dialog.getByRole('img'))
    await shoot('code')
  })
  if (onPhone) {
    await check('after the payment the page shows the address and the next step', async () => {
      await page.getByRole('button', { name: 'Pay', exact: true }).click()
      await page.waitForURL(`${base}/`)
      await soon(order.and(page.locator('[data-state="paid"]')))
      await soon(order.getByText('We ship to Li Lei, 13800000000, 1 Main Street.'))
      await shoot('paid')
    })
  } else {
    await check('the sheet, the card and the list show one end of the time to pay', async () => {
      const [ofOrder, ofSheet] = await secondsLeft(order, dialog)
      const ofCard = await card.locator('[data-action="pay"]').innerText()
      const minutes = String(Math.floor(ofSheet / 60)).padStart(2, '0')
      if (ofOrder !== ofSheet || !ofCard.includes(minutes))
        throw new Error(`list ${ofOrder} s, sheet ${ofSheet} s, card ${ofCard}`)
    })
    await page.keyboard.press('Escape')
  }
  await check('the address can be changed, in one tap if the address book has it', async () => {
    await order.getByRole('button', { name: /^Change: Delivery address/ }).click()
    await soon(dialog.getByRole('radio', { name: /Li Lei/ }))
    await dialog.locator('.add').click()
    await dialog.locator('[name=name]').fill('Han Meimei')
    await dialog.locator('[name=phone]').fill('13900000000')
    await dialog.locator('[name=text]').fill('2 Main Street')
    await dialog.locator('[type=submit]').click()
    await soon(order.getByText('We ship to Han Meimei, 13900000000, 2 Main Street.'))
    await order.getByRole('button', { name: /^Change: Delivery address/ }).click()
    await dialog.getByRole('radio', { name: /Li Lei/ }).check()
    await dialog.getByRole('button', { name: 'Ship to Li Lei', exact: true }).click()
    await soon(order.getByText('We ship to Li Lei'))
  })
  await check('reports no errors', () => expectNoProblems(page))
}

/** The uncertainty of the page's estimate of the server's clock on a busy machine, in milliseconds. */
const CLOCK_ERROR_MS = 50
/** The frames after the instant until the button is active: this test's callback runs before the page's. */
const FRAMES = 3

/** Sales become buyable at their instants, in the next frame. */
export async function opening(report, browser, base) {
  const check = (what, run) => report.check(`buying, opening: ${what}`, run)
  const page = await browser.open('about:blank', { size: 'desktop' })
  let from
  const opensAt = new Map()
  await page.routeWebSocket('**/ws', (socket) => {
    const server = socket.connectToServer()
    server.onMessage((text) => {
      const frame = JSON.parse(text)
      from ??= frame.ok?.sales && Date.now() + 13_000
      // Each sale opens at another offset to every possible interval of the page.
      for (const [n, sale] of (frame.ok?.sales ?? []).entries())
        opensAt.set(sale.id, (sale.opens_at = from + n * 437))
      socket.send(JSON.stringify(frame))
    })
  })
  await page.goto(base)
  await check('the last ten seconds are in tenths', () =>
    soon(
      page
        .locator('[data-action="none"]')
        .filter({ hasText: /Opens in \d\.\d/ })
        .first(),
    ),
  )
  await check('Buy becomes active in the frame after the instant', async () => {
    const frames = await page.evaluate(
      ([sales, error]) =>
        new Promise((resolve) => {
          const late = {}
          const onFrame = () => {
            for (const [id, at] of sales) {
              const active = document.querySelector(`[data-sale="${id}"] [data-action="buy"]`)
              if (late[id]?.active || Date.now() < at + error) continue
              late[id] = { frames: (late[id]?.frames ?? -1) + 1, active: active !== null }
            }
            if (Object.values(late).filter(({ active }) => active).length === sales.length) resolve(late)
            else requestAnimationFrame(onFrame)
          }
          onFrame()
        }),
      [[...opensAt], CLOCK_ERROR_MS],
    )
    const late = Object.values(frames).map(({ frames }) => frames)
    if (late.length < 8 || Math.max(...late) > FRAMES)
      throw new Error(`the sales opened ${late} frames late, want ${FRAMES}`)
  })
}
