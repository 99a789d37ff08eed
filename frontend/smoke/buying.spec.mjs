import { expectNoProblems, live, reviewPage, soon, toShop } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'

test.use({ settings: { GUEST_LOGIN: 'false' } })

/** A shop without guests, as `serve` starts it: the login is requested by the buy, which then continues. */
test('buying, login', async ({ open, shop }) => {
  const [email, password] = ['buyer@shop.example', 'a sentence that nobody guesses']
  await shop.run(['user', 'add', email, '--role', 'shopper', '--password'], password)
  const create = ['product', 'create', '--name', 'Pot', '--list-price', '99', '--json']
  const product = JSON.parse(await shop.run(create))
  await shop.sell(product.id, '--price', '9', '--stock', '9', '--limit', '2')
  const page = await open(shop.base, { size: 'phone' })
  const button = page.locator('[data-sale] [data-action="login"]')
  const dialog = page.locator('dialog[open]')
  const logIn = async () => {
    await dialog.locator('[name=email]').fill(email)
    await dialog.locator('[name=password]').fill(password)
    await dialog.locator('[type=submit]').click()
    await soon(dialog, 'hidden')
  }

  await test.step('the page offers a login and no commands', async () => {
    await soon(page.getByRole('heading', { name: 'Log in or create an account to buy' }))
    await soon(button.filter({ hasText: 'Log in to buy' }))
    if (/stampede|token/.test(await page.locator('main').innerText()))
      throw new Error('the page shows a command')
    await reviewPage(page, 'buying-no-guests')
    await page.getByRole('button', { name: 'Create an account', exact: true }).click()
    await soon(dialog.getByText('you see your orders on any device'))
    if (/without an account/.test(await dialog.innerText())) throw new Error('the form promises guests')
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
  })
  await test.step('a closed login buys nothing', async () => {
    await button.click()
    await soon(dialog.locator('.note'))
    await page.keyboard.press('Escape')
    await page.locator('.account').click()
    if (await dialog.locator('.note').count()) throw new Error('the sheet still announces the purchase')
    await logIn()
    await soon(page.locator('[data-action="buy"]'))
    await page.locator('.account').click()
    await dialog.locator('.out').click()
    await soon(button)
  })
  await test.step('Log in to buy opens the sheet, and the buy continues after the login', async () => {
    await button.click()
    await soon(dialog.locator('.note').filter({ hasText: 'your purchase of Pot continues' }))
    await reviewPage(page, 'buying-login')
    await logIn()
    await soon(page.locator('[data-action="pay"]'))
  })
  await test.step('after the end of a session, a login shows the order and does not buy again', async () => {
    await shop.run(['user', 'revoke', email])
    await button.click()
    await logIn()
    await soon(page.locator('[data-action="pay"]'))
    await page.locator('.bag').click()
    await soon(page.locator('main [data-order]').first())
    const orders = await page.locator('main [data-order]').count()
    if (orders !== 1) throw new Error(`got ${orders} orders, want 1`)
  })
  await test.step('reports no errors', () => {
    // The browser logs each rejected request; a shop without guests rejects the request for a guest.
    page.problems = page.problems.filter((text) => !/status of 4\d\d/.test(text))
    expectNoProblems(page)
  })
})

/** The delivery address is requested before the payment, and can be changed afterwards. */
for (const look of [desktopLight, phoneDark])
  test(`buying, delivery, ${look.size}`, async ({ open, quiet: base }) => {
    const shoot = (what) => reviewPage(page, `buying-${look.size}-${look.theme}-${what}`)
    const page = await open('about:blank', look)
    let shipsIsKnown = true
    await page.routeWebSocket('**/ws', (socket) => {
      const server = socket.connectToServer()
      server.onMessage((text) =>
        socket.send(shipsIsKnown ? text : text.replaceAll('"ships":true', '"ships":false')),
      )
    })
    // The first load of each sheet fails, as in a short loss of the network.
    const failed = new Set()
    await page.route(/(DeliverySheet|PaySheet)-.*\.js/, (route) => {
      const { pathname } = new URL(route.request().url())
      return failed.has(pathname) ? route.fallback() : failed.add(pathname) && route.abort()
    })
    await page.goto(base)
    const onPhone = look.size === 'phone'
    const dialog = page.locator('dialog[open]')
    const order = page.locator('[data-order]').filter({ visible: true }).first()
    /** Buys in the first sale that is available, and returns its card. */
    const buyFirst = async () => {
      const buy = page.locator('[data-action="buy"][aria-disabled="false"]')
      const sale = await page.locator('[data-sale]').filter({ has: buy }).first().getAttribute('data-sale')
      const chosen = page.locator(`[data-sale="${sale}"]`)
      await chosen.locator(buy).click()
      return chosen
    }
    let card

    await test.step('Pay requests the address while the time to pay runs', async () => {
      await live(page)
      card = await buyFirst()
      await card.locator('[data-action="pay"][aria-disabled="false"]').click()
      await soon(dialog.locator('[name=text]'))
      await soon(dialog.locator('[data-deadline]'))
      await shoot('address')
    })
    await test.step('a new address is stored and leads to the payment', async () => {
      await dialog.locator('[name=name]').fill('Li Lei')
      await dialog.locator('[name=phone]').fill('13800000000')
      await dialog.locator('[name=text]').fill('1 Main Street')
      await dialog.locator('[type=submit]').click()
      if (onPhone) return page.waitForURL(/\/cashier\//)
      await soon(dialog.getByRole('img'))
      await shoot('code')
    })
    if (onPhone) {
      await test.step('after the payment the page shows the address and the next step', async () => {
        await page.getByRole('button', { name: 'Pay', exact: true }).click()
        await page.waitForURL(/\/order\/\d+$/)
        await soon(order.and(page.locator('[data-state="paid"]')))
        await soon(order.getByText('We ship to Li Lei, 13800000000, 1 Main Street.'))
        await shoot('paid')
      })
    } else {
      await test.step('the sheet, the card and the list show one end of the time to pay', async () => {
        const texts = await page.evaluate(() => {
          const places = ['dialog[open] [data-deadline]', '.rail [data-deadline]', '[data-action="pay"]']
          return places.map((place) => /\d+[:.]\d+/.exec(document.querySelector(place).innerText.trim())?.[0])
        })
        if (!texts[0] || new Set(texts).size > 1) throw new Error(`sheet, list and card show ${texts}`)
      })
      await page.keyboard.press('Escape')
    }
    await test.step('the address can be changed, in one tap if the address book has it', async () => {
      await order.getByRole('button', { name: /^Change: Delivery address/ }).click()
      await soon(dialog.getByRole('radio', { name: /Li Lei/ }))
      await dialog.locator('.add').click()
      await soon(dialog.locator('[type=submit]'))
      if (await dialog.locator('.button.pay').count()) throw new Error('the form has two main buttons')
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
    await test.step('the server requests an address that the page does not know to be missing', async () => {
      shipsIsKnown = false
      await page.evaluate(() => localStorage.removeItem('stampede.address'))
      await page.reload()
      if (onPhone) await toShop(page)
      await live(page)
      // Until the orders are loaded, the card of the pending order still offers to buy.
      if (!onPhone) await soon(order)
      const bought = await buyFirst()
      await bought.locator('[data-action="pay"][aria-disabled="false"]').click()
      await soon(dialog.getByRole('button', { name: /^Ship to .* and pay$/ }))
    })
    await test.step('reports no errors', () => {
      page.problems = page.problems.filter((text) => !/ERR_FAILED|dynamically imported module/.test(text))
      expectNoProblems(page)
    })
  })

/** The uncertainty of the page's estimate of the server's clock on a busy machine, in milliseconds. */
const CLOCK_ERROR_MS = 50
/** The frames after the instant until the button is active: this test's callback runs before the page's. */
const FRAMES = 3

/** Sales become buyable at their instants, in the next frame. */
test('buying, opening', async ({ open, quiet: base }) => {
  const page = await open('about:blank', { size: 'desktop' })
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
  await test.step('the last ten seconds are in tenths', () =>
    soon(
      page
        .locator('[data-action="none"]')
        .filter({ hasText: /Opens in \d\.\d/ })
        .first(),
    ))
  await test.step('Buy becomes active in the frame after the instant', async () => {
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
    expectNoProblems(page)
    if (late.length < 8 || Math.max(...late) > FRAMES)
      throw new Error(`the sales opened ${late} frames late, want ${FRAMES}`)
  })
})
