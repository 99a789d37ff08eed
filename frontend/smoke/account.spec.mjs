import { expectNoProblems, live, reviewPage, soon, takeShot } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'
import { stampede } from './program.mjs'
import { Visitor } from './visitor.mjs'

test('account of a shop', ({ open, quiet, reader }) => accounts(open, quiet, reader, desktopLight))

test('account on a phone', ({ open, quiet, reader }) =>
  accounts(open, quiet, reader, { ...phoneDark, lang: 'zh' }))

/**
 * A guest registers, uses every account function, and deletes the account. On a phone the guest only opens each sheet
 * and logs out. `reader` reads the mails and captchas of the server.
 */
async function accounts(open, base, reader, look) {
  const { size, theme } = look
  const visitor = await Visitor.open(open, base, look, reader)
  const { page, dialog } = visitor
  const checkPage = (what) => reviewPage(page, `account-${size}-${theme}-${what}`)
  const email = `shopper-${Date.now()}-${size}@example.com`
  let password = 'a sentence that nobody guesses'
  let order
  let other

  await test.step('a guest buys without an account', async () => {
    order = await visitor.buy()
    if (await dialog.isVisible()) throw new Error('a dialog is open')
  })
  await test.step('the guest registers, and the form explains that the orders are kept', async () => {
    await visitor.openAccount()
    await checkPage('login')
    await dialog.locator('.button-link').nth(1).click()
    await soon(dialog.locator('.note.good'))
    await visitor.fill({ email, 'new-password': password, name: 'Li Lei' })
    await visitor.submit(dialog.locator('.mark'), checkPage, 'register')
    await checkPage('sent')
    if (!(await dialog.innerText()).includes(email)) throw new Error('the e-mail address is not shown')
  })
  await test.step('the e-mail link and the password activate the account without a login', async () => {
    await page.goto(base + (await reader.link(email, 'activate')))
    await soon(dialog.locator('[name=password]'))
    if (page.url() !== `${base}/account/activate`) throw new Error(`the address is ${page.url()}`)
    await visitor.fill({ password: 'not the chosen password' })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await visitor.fill({ password })
    await checkPage('activate')
    await visitor.submit(dialog.locator('.mark.good'))
    if (await page.evaluate(() => JSON.stringify(localStorage).includes('"account":true')))
      throw new Error('an account is logged in')
    await checkPage('activated')
  })
  await test.step('a login shows the order of the guest, and no token is stored', async () => {
    await dialog.locator('.mark .button').click()
    if ((await dialog.locator('[name=email]').inputValue()) !== email)
      throw new Error('the e-mail address is not filled in')
    await visitor.fill({ password })
    await visitor.submit(page.locator('.account.in'))
    await soon(dialog, 'hidden')
    if (page.url() !== `${base}/`) throw new Error(`the address is ${page.url()}`)
    await visitor.shows(order)
    await page.reload()
    await live(page)
    await visitor.shows(order)
    const stored = await page.evaluate(() => JSON.stringify(localStorage))
    if (/eyJ|refresh/.test(stored)) throw new Error(`a token is stored: ${stored}`)
    const cookies = (await page.context().cookies(`${base}/api/v1/auth`)).filter(
      (c) => c.name === 'stampede_refresh',
    )
    if (cookies.length !== 1 || !cookies[0].httpOnly || cookies[0].sameSite !== 'Strict')
      throw new Error(JSON.stringify(cookies))
  })
  const noProblems = (pages) =>
    test.step('reports no errors', () => {
      for (const page of pages) {
        // The browser logs each rejected request: this test provokes some, and a busy server rejects others.
        page.problems = page.problems.filter((text) => !/status of (4\d\d|503)/.test(text))
        expectNoProblems(page)
      }
    })
  if (size === 'phone') {
    await test.step('every sheet of the account is accessible and fits', async () => {
      await visitor.openAccount()
      await checkPage('home')
      for (const [n, what] of ['profile', 'addresses', 'password', 'devices', 'data'].entries()) {
        await visitor.part(n)
        await soon(dialog.locator('.up'))
        await checkPage(what)
        await dialog.locator('.up').click()
      }
    })
    await test.step('Log out ends the session', async () => {
      await dialog.locator('.out').click()
      await soon(dialog, 'hidden')
      await soon(page.locator('.account.in'), 'detached')
      await live(page)
    })
    return noProblems([page])
  }
  await test.step('the name can be changed', async () => {
    await visitor.openAccount()
    await soon(dialog.locator('.home'))
    await checkPage('home')
    await visitor.part(0)
    await visitor.fill({ name: 'Han Meimei' })
    await checkPage('profile')
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('.saved:not(:empty)'))
    await dialog.locator('.up').click()
    await soon(dialog.locator('h2').filter({ hasText: 'Han Meimei' }))
  })
  await test.step('the address book stores addresses, and the chosen one is used for orders', async () => {
    await visitor.part(1)
    for (const who of ['Li Lei', 'Han Meimei']) {
      if (who === 'Han Meimei') await dialog.locator('.add').click()
      await visitor.fill({ name: who, phone: '13800000000', text: `1 Long Street, ${who}` })
      await dialog.locator('[type=submit]').click()
      await soon(dialog.locator('.line').filter({ hasText: who }))
    }
    await dialog.locator('.line').filter({ hasText: 'Li Lei' }).getByRole('radio').click()
    await soon(dialog.locator('.line.chosen').filter({ hasText: 'Li Lei' }))
    await checkPage('addresses')
    await page.keyboard.press('Escape')
    await page.locator('.address').click()
    await dialog.locator('.line').filter({ hasText: 'Han Meimei' }).getByRole('button').click()
    await dialog.locator('.button-link.bad').click()
    await checkPage('address-delete')
    await dialog.locator('.button.danger').click()
    await soon(dialog.locator('.line').filter({ hasText: 'Han Meimei' }), 'hidden')
    await page.keyboard.press('Escape')
    await page.locator('.address').filter({ hasText: 'Li Lei' }).waitFor({ state: 'attached' })
  })
  await test.step('the device list shows both devices', async () => {
    other = await Visitor.open(open, base, { theme }, reader)
    await other.logIn(email, password)
    await other.shows(order)
    await visitor.openAccount()
    await visitor.part(3)
    await soon(dialog.locator('.devices li').nth(1))
    if ((await dialog.locator('.devices .chip').count()) !== 1)
      throw new Error('not exactly one device is marked as the current one')
    await checkPage('devices')
    await dialog.locator('.up').click()
  })
  await test.step('a new password signs out the other device, which shows a message', async () => {
    await visitor.part(2)
    await visitor.fill({ password: 'not the password at all', 'new-password': 'another sentence for today' })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await visitor.fill({ password })
    password = 'another sentence for today'
    await checkPage('password')
    await visitor.submit(dialog.locator('.home'))
    await soon(other.page.locator('.ended'))
    if ((await other.page.locator('.rail [data-order]').count()) > 0)
      throw new Error('orders are still shown')
    await reviewPage(other.page, `account-${theme}-signed-out`)
  })
  await test.step('the data of the account can be downloaded', async () => {
    await visitor.part(4)
    await checkPage('data')
    const [file] = await Promise.all([page.waitForEvent('download'), dialog.locator('.data .button').click()])
    const data = await file.createReadStream().then((stream) => stream.toArray())
    if (!JSON.stringify(JSON.parse(Buffer.concat(data))).includes(email))
      throw new Error('the file does not contain the e-mail address')
    await dialog.locator('.up').click()
  })
  await test.step('Log out on all devices ends all sessions', async () => {
    await other.logIn(email, password)
    await dialog.locator('.home .button-link').click()
    await soon(dialog, 'hidden')
    await soon(page.locator('.account.in'), 'detached')
    await soon(other.page.locator('.ended'))
    await live(page)
    await page.waitForFunction(() => localStorage.getItem('stampede.session')?.includes('"access"'))
  })
  await test.step('a forgotten password is replaced with the link of an e-mail', async () => {
    await visitor.openAccount()
    await dialog.locator('.button-link').first().click()
    await visitor.fill({ email })
    await visitor.submit(dialog.locator('.mark'), checkPage, 'forgot')
    await page.goto(base + (await reader.link(email, 'reset')))
    await soon(dialog.locator('[name=new-password]'))
    if (page.url() !== `${base}/account/reset`) throw new Error(`the address is ${page.url()}`)
    password = 'a third sentence, by mail'
    await visitor.fill({ 'new-password': password })
    await checkPage('reset')
    await visitor.submit(dialog.locator('.note.good'))
    await visitor.fill({ email, password })
    await visitor.submit(page.locator('.account.in'))
    await visitor.shows(order)
  })
  await test.step('the account is deleted after a confirmation', async () => {
    await visitor.openAccount()
    await visitor.part(4)
    await dialog.locator('.bad').click()
    await visitor.fill({ password })
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('.problem:not(:empty)'))
    await dialog.locator('[name=sure]').check()
    await checkPage('erase')
    await visitor.submit(page.locator('.account:not(.in)'))
    await soon(dialog, 'hidden')
    await visitor.openAccount()
    await visitor.fill({ email, password })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await page.keyboard.press('Escape')
  })
  await test.step('the link of an e-mail deletes a registration by another person', async () => {
    const foreign = `foreign-${email}`
    await visitor.openAccount()
    await dialog.locator('.button-link').nth(1).click()
    await visitor.fill({ email: foreign, 'new-password': password })
    await visitor.submit(dialog.locator('.mark'))
    await page.goto(base + (await reader.link(foreign, 'activate')))
    await dialog.locator('.button-link').click()
    await soon(dialog.locator('.mark.good'))
    await checkPage('unregistered')
    await page.keyboard.press('Escape')
    await visitor.openAccount()
    await visitor.fill({ email: foreign, password })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await page.keyboard.press('Escape')
  })
  await noProblems([page, other.page])
}

/** Account states that are rare on a healthy server. */
test('account states', async ({ open, quiet: base, quietData, reader }) => {
  const [email, password] = ['old@example.com', 'a password of long ago']
  await stampede(quietData, ['user', 'add', email, '--role', 'shopper', '--password'], password)
  const visitor = await Visitor.open(open, base, { size: 'phone', relayed: true }, reader)
  const { page, dialog } = visitor
  const checkPage = (what) => reviewPage(page, `account-state-${what}`)

  await test.step('an invalid link explains what to do', async () => {
    await page.goto(`${base}/#activate=nonsense`)
    await dialog.locator('[name=password]').fill('the chosen password')
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('.mark.warn'))
    await checkPage('dead-link')
    await page.keyboard.press('Escape')
  })
  await test.step('the login form explains that orders stay with the guest, who has them later', async () => {
    const order = await visitor.buy()
    await visitor.openAccount()
    await soon(dialog.locator('.note'))
    await takeShot(page, 'account-state-stays')
    await visitor.fill({ email, password })
    await visitor.submit(page.locator('.account.in'))
    await page.locator(`[data-order="${order}"]`).first().waitFor({ state: 'detached' })
    await visitor.openAccount()
    await dialog.locator('.out').click()
    await soon(dialog, 'hidden')
    await visitor.shows(order)
  })
  await test.step('a captcha is required after failed logins', async () => {
    // A busy server does not check the password, which does not count.
    for (let failures = 0; failures < 3;) {
      const answer = await page.request.post(`${base}/api/v1/auth/login`, {
        data: { email, password: 'a guess' },
      })
      if (answer.status() !== 503) failures++
    }
    await visitor.openAccount()
    await visitor.fill({ email, password })
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('[name=captcha][aria-invalid=true]:focus'))
    await soon(dialog.locator('img'))
    await checkPage('guarded')
    await visitor.submit(page.locator('.account.in'))
  })
  await test.step('another tab is logged in too and gets its own token', async () => {
    const tab = await page.context().newPage()
    await tab.goto(base)
    await soon(tab.locator('.account.in'))
    await soon(tab.locator('.live.on'))
    await tab.close()
  })
  await test.step('a logout without a response shows an error, and the account stays logged in', async () => {
    await visitor.openAccount()
    await page.route('**/auth/logout', (route) => route.abort())
    await dialog.locator('.out').click()
    await soon(dialog.locator('.problem:not(:empty)'))
    await page.unroute('**/auth/logout')
    await takeShot(page, 'account-state-no-answer')
    await page.keyboard.press('Escape')
    await soon(page.locator('.account.in'))
  })
  await test.step('a blocked user sees an explanation, and the page does not reconnect by itself', async () => {
    const hellos = () => page.relay.received.filter(({ op }) => op === 'hello').length
    const before = hellos()
    await page.relay.close(4507)
    const notice = page.locator('.out[role=alert]')
    await soon(notice.getByText('contact the shop'))
    await page.evaluate(() => window.dispatchEvent(new Event('online')))
    await checkPage('blocked')
    const { y } = await notice.boundingBox()
    if (y < 0 || y > page.viewportSize().height / 2) throw new Error(`the notice is at ${y} px, out of view`)
    if (await page.locator('.banner').count()) throw new Error('the banner of a lost connection is shown')
    if (hellos() !== before) throw new Error('the page reconnected by itself')
    await notice.getByRole('button').click()
    await soon(notice, 'hidden')
  })
})
