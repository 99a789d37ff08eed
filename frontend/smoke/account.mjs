import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways } from './browser.mjs'
import { standInReader } from './mailbox.mjs'
import { StandIn } from './standin/server.mjs'

/** The longest wait for a slot to open. */
const OPENING_MS = 120_000
/** A busy shop, and one that counts attempts, says how long to wait; so often it is asked. */
const TRIES = 8

/** Accounts on a stand-in, in both languages, and what a healthy server shows rarely: its parts. */
export function accountsOnStandIn(report, browser) {
  const visitors = [
    { size: 'phone', theme: 'light', lang: 'en' },
    { size: 'desktop', theme: 'dark', lang: 'zh' },
  ]
  const on = (part, visitor) => async () => {
    const standIn = new StandIn()
    await part(report, browser, await standIn.start(), standIn, visitor)
    standIn.close()
  }
  return [accountsOn, rareStates].flatMap((part) => visitors.map((visitor) => on(part, visitor)))
}

function accountsOn(report, browser, base, standIn, visitor) {
  return accounts(report, browser, base, standInReader(standIn), visitor)
}

/**
 * A guest makes an account, and does with it what people do, to its end. Works against any server whose mails and pictures
 * `reader` can read.
 */
export async function accounts(report, browser, base, reader, { size, theme, lang }) {
  const name = `account, ${size} ${theme} ${lang}`
  const visitor = await Visitor.open(browser, base, { size, theme, lang }, reader)
  const { page, dialog } = visitor
  const check = (what, run) => report.check(`${name}: ${what}`, run)
  const shoot = (what) => browser.shoot(page, `account-${size}-${theme}-${lang}-${what}`)
  const email = `shopper-${Date.now()}-${size}@example.com`
  const soon = (locator, state = 'visible') => locator.waitFor({ state, timeout: PATIENCE_MS })
  const looks = async (what) => {
    await shoot(what)
    await expectAccessible(page)
    await expectNoSideways(page)
  }
  let password = 'a sentence that nobody guesses'
  let order
  let other

  await check('a guest buys without any account', async () => {
    order = await visitor.buy()
    if (await dialog.isVisible()) throw new Error('something was asked')
  })
  await check('registers, and hears that the orders are kept', async () => {
    await visitor.openAccount()
    await looks('login')
    await dialog.locator('.button-link').nth(1).click()
    await soon(dialog.locator('.note.good'))
    await visitor.fill({ email, 'new-password': password, name: 'Li Lei' })
    await visitor.submit(dialog.locator('.mark'), looks, 'register')
    await looks('sent')
    if (!(await dialog.innerText()).includes(email)) throw new Error('the address is not told')
  })
  await check('the link of the mail activates, is gone from the address, and logs nobody in', async () => {
    await page.goto(base + (await reader.link(email, 'activate')))
    await soon(dialog.locator('.mark.good'))
    const url = page.url().replace(/\/$/, '')
    if (url !== base) throw new Error(`the address is ${page.url()}`)
    if (await page.evaluate(() => JSON.stringify(localStorage).includes('"account":true')))
      throw new Error('somebody is logged in')
    await looks('activated')
  })
  await check('logs in; the order of the guest is there, and no token is stored', async () => {
    await dialog.locator('.mark .button').click()
    if ((await dialog.locator('[name=email]').inputValue()) !== email) throw new Error('the address is lost')
    await visitor.fill({ password })
    await visitor.submit(page.locator('.account.in'))
    await soon(dialog, 'hidden')
    await visitor.shows(order)
    await page.reload()
    await visitor.live()
    await visitor.shows(order)
    const stored = await page.evaluate(() => JSON.stringify(localStorage))
    if (/eyJ|refresh/.test(stored)) throw new Error(`a token is stored: ${stored}`)
    const cookies = (await page.context().cookies(`${base}/api/v1/auth`)).filter(
      (c) => c.name === 'stampede_refresh',
    )
    if (cookies.length !== 1 || !cookies[0].httpOnly || cookies[0].sameSite !== 'Strict')
      throw new Error(JSON.stringify(cookies))
  })
  await check('has another name', async () => {
    await visitor.openAccount()
    await soon(dialog.locator('.home'))
    await looks('home')
    await visitor.part(0)
    await visitor.fill({ name: 'Han Meimei' })
    await looks('profile')
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('.saved:not(:empty)'))
    await dialog.locator('.up').click()
    await soon(dialog.locator('h2').filter({ hasText: 'Han Meimei' }))
  })
  await check('keeps addresses, of which one goes along', async () => {
    await visitor.part(1)
    for (const who of ['Li Lei', 'Han Meimei']) {
      if (who === 'Han Meimei') await dialog.locator('.add').click()
      await visitor.fill({ name: who, phone: '13800000000', text: `1 Long Street, ${who}` })
      await dialog.locator('[type=submit]').click()
      await soon(dialog.locator('.line').filter({ hasText: who }))
    }
    await dialog.locator('.line').filter({ hasText: 'Li Lei' }).getByRole('radio').click()
    await soon(dialog.locator('.line.chosen').filter({ hasText: 'Li Lei' }))
    await looks('addresses')
    await page.keyboard.press('Escape')
    await page.locator('.address').click()
    await dialog.locator('.line').filter({ hasText: 'Han Meimei' }).getByRole('button').click()
    await dialog.locator('.button-link.bad').click()
    await looks('address-delete')
    await dialog.locator('.button.danger').click()
    await soon(dialog.locator('.line').filter({ hasText: 'Han Meimei' }), 'hidden')
    await page.keyboard.press('Escape')
    await page.locator('.address').filter({ hasText: 'Li Lei' }).waitFor({ state: 'attached' })
  })
  await check('sees where it is logged in', async () => {
    other = await Visitor.open(browser, base, { size: 'desktop', theme, lang: 'en' }, reader)
    await other.logIn(email, password)
    await other.shows(order)
    await visitor.openAccount()
    await visitor.part(3)
    await soon(dialog.locator('.devices li').nth(1))
    if ((await dialog.locator('.devices .chip').count()) !== 1) throw new Error('not exactly one is this one')
    await looks('devices')
    await dialog.locator('.up').click()
  })
  await check('a new password signs the other device out, which is told', async () => {
    await visitor.part(2)
    await visitor.fill({ password: 'not the password at all', 'new-password': 'another sentence for today' })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await visitor.fill({ password })
    password = 'another sentence for today'
    await looks('password')
    await visitor.submit(dialog.locator('.home'))
    await soon(other.page.locator('.ended'))
    if ((await other.page.locator('.rail [data-order]').count()) > 0)
      throw new Error('orders are still on show')
    await browser.shoot(other.page, `account-${size}-${theme}-${lang}-signed-out`)
    await expectAccessible(other.page)
  })
  await check('takes its data along', async () => {
    await visitor.part(4)
    await looks('data')
    const [file] = await Promise.all([page.waitForEvent('download'), dialog.locator('.data .button').click()])
    const data = await file.createReadStream().then((stream) => stream.toArray())
    if (!JSON.stringify(JSON.parse(Buffer.concat(data))).includes(email)) throw new Error('it is not all')
    await dialog.locator('.up').click()
  })
  await check('logs out on all devices', async () => {
    await other.logIn(email, password)
    await dialog.locator('.home .button-link').click()
    await soon(dialog, 'hidden')
    await soon(page.locator('.account.in'), 'detached')
    await soon(other.page.locator('.ended'))
    await visitor.live()
    await page.waitForFunction(() => localStorage.getItem('stampede.session')?.includes('"access"'))
  })
  await check('a forgotten password is set anew by mail', async () => {
    await visitor.openAccount()
    await dialog.locator('.button-link').first().click()
    await visitor.fill({ email })
    await visitor.submit(dialog.locator('.mark'), looks, 'forgot')
    await page.goto(base + (await reader.link(email, 'reset')))
    await soon(dialog.locator('[name=new-password]'))
    if (page.url().replace(/\/$/, '') !== base) throw new Error(`the address is ${page.url()}`)
    password = 'a third sentence, by mail'
    await visitor.fill({ 'new-password': password })
    await looks('reset')
    await visitor.submit(dialog.locator('.note.good'))
    await visitor.fill({ email, password })
    await visitor.submit(page.locator('.account.in'))
    await visitor.shows(order)
  })
  await check('is deleted after it was confirmed', async () => {
    await visitor.openAccount()
    await visitor.part(4)
    await dialog.locator('.bad').click()
    await visitor.fill({ password })
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('.problem:not(:empty)'))
    await dialog.locator('[name=sure]').check()
    await looks('erase')
    await visitor.submit(page.locator('.account:not(.in)'))
    await soon(dialog, 'hidden')
    await visitor.openAccount()
    await visitor.fill({ email, password })
    await visitor.submit(dialog.locator('.problem:not(:empty)'))
    await page.keyboard.press('Escape')
  })
  await check('reports no errors', () => {
    // Refusals are part of all this; a browser writes each into its console.
    for (const { page } of [visitor, other])
      page.problems = page.problems.filter((text) => !/status of 4\d\d/.test(text))
    expectNoProblems(page)
    expectNoProblems(other.page)
  })
  await other?.page.context().close()
  await page.context().close()
}

async function rareStates(report, browser, base, standIn, { size, theme, lang }) {
  const visitor = await Visitor.open(browser, base, { size, theme, lang }, standInReader(standIn))
  const { page, dialog } = visitor
  const check = (what, run) => report.check(`account, ${size} ${theme} ${lang}: ${what}`, run)
  const shoot = (what) => browser.shoot(page, `account-${size}-${theme}-${lang}-${what}`)
  const soon = (locator, state = 'visible') => locator.waitFor({ state, timeout: PATIENCE_MS })
  standIn.accounts.add('old@example.com', 'a password of long ago', 'Old Hand')

  await check('a link that counts no more says what to do', async () => {
    await page.goto(`${base}/?activate=nonsense`)
    await soon(dialog.locator('.mark.warn'))
    await shoot('dead-link')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
  })
  await check('a guest with orders hears that they stay, and has them again after the log out', async () => {
    const order = await visitor.buy()
    await visitor.openAccount()
    await soon(dialog.locator('.note'))
    await shoot('stays')
    await visitor.fill({ email: 'old@example.com', password: 'a password of long ago' })
    await visitor.submit(page.locator('.account.in'))
    await page.locator(`[data-order="${order}"]`).first().waitFor({ state: 'detached', timeout: PATIENCE_MS })
    await visitor.openAccount()
    await dialog.locator('.out').click()
    await soon(dialog, 'hidden')
    await visitor.shows(order)
  })
  await check('a picture is asked for after attempts that failed', async () => {
    standIn.accounts.guarded = true
    await visitor.openAccount()
    await visitor.fill({ email: 'old@example.com', password: 'a password of long ago' })
    await dialog.locator('[type=submit]').click()
    await soon(dialog.locator('img'))
    await shoot('guarded')
    await expectAccessible(page)
    await visitor.submit(page.locator('.account.in'))
    standIn.accounts.guarded = false
  })
  await check('another tab is logged in as well, and renews by itself', async () => {
    const tab = await page.context().newPage()
    await tab.goto(base)
    await soon(tab.locator('.account.in'))
    await soon(tab.locator('.live.on'))
    await tab.close()
  })
  await check('a shop that does not answer is told, and nobody is logged out', async () => {
    await visitor.openAccount()
    await page.route('**/auth/logout', (route) => route.abort())
    await dialog.locator('.out').click()
    await soon(dialog.locator('.problem:not(:empty)'))
    await page.unroute('**/auth/logout')
    await shoot('no-answer')
    await page.keyboard.press('Escape')
    await soon(page.locator('.account.in'))
  })
  await check('who is blocked is told, and is not sent round in circles', async () => {
    const hellos = () => standIn.received.filter(({ op }) => op === 'hello').length
    const before = hellos()
    standIn.block()
    const told = page.locator('.out[role=alert]')
    await told.getByText(lang === 'zh' ? '请联系商城' : 'write to the shop').waitFor({ timeout: PATIENCE_MS })
    await page.evaluate(() => window.dispatchEvent(new Event('online')))
    await shoot('blocked')
    await expectAccessible(page)
    await expectNoSideways(page)
    const { y } = await told.boundingBox()
    if (y < 0 || y > page.viewportSize().height / 2) throw new Error(`it stands at ${y}, out of sight`)
    if (await page.locator('.banner').count()) throw new Error('it reads like a lost connection')
    if (hellos() !== before) throw new Error('the page came back by itself')
    await told.getByRole('button').click()
    await soon(told, 'hidden')
  })
  await page.context().close()
}

/** A browser of its own, and the hands in front of it. */
class Visitor {
  static async open(browser, base, { size, theme, lang }, reader) {
    const visitor = new Visitor()
    visitor.page = await browser.open('about:blank', size, theme)
    visitor.dialog = visitor.page.locator('dialog[open]')
    visitor.size = size
    visitor.reader = reader
    // The newest picture, from the moment its answer begins: the page may show it before it is read here.
    visitor.page.on('response', (response) => {
      if (!response.url().endsWith('/auth/captcha') || !response.ok()) return
      visitor.picture = response.json()
      visitor.picture.catch(() => {}) // of a page that was left
    })
    await visitor.page.goto(base)
    if (lang === 'zh') await visitor.page.locator('.lang').click()
    return visitor
  }

  async live() {
    await this.page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
  }

  async openAccount() {
    await this.page.locator('.account').click()
    await this.dialog.locator('h2').first().waitFor({ timeout: PATIENCE_MS })
  }

  part(n) {
    return this.dialog.locator('.home li button').nth(n).click({ timeout: PATIENCE_MS })
  }

  async fill(fields) {
    for (const [name, value] of Object.entries(fields))
      await this.dialog.locator(`[name=${name}]`).fill(value)
  }

  /** Sends the form until `wanted` shows, with the characters of a picture when there is one. */
  async submit(wanted, looks, what) {
    for (let tries = 1; ; tries++) {
      const picture = this.dialog.locator('img')
      if (looks || (await picture.isVisible())) {
        await picture.waitFor({ timeout: PATIENCE_MS })
        await this.dialog.locator('[name=captcha]').fill(await this.reader.captcha((await this.picture).id))
        if (looks && tries === 1) await looks(what)
      }
      await this.dialog.locator('[type=submit]').click()
      const busy = this.dialog.locator('.problem').filter({ hasText: /moment|稍后|\d+ s|\d+ 秒/ })
      await wanted.or(busy).first().waitFor({ timeout: PATIENCE_MS })
      if (await wanted.first().isVisible()) return
      if (tries === TRIES) throw new Error(await busy.innerText())
      await this.page.waitForTimeout(1_000 * tries)
    }
  }

  async logIn(email, password) {
    await this.openAccount()
    await this.fill({ email, password })
    await this.submit(this.page.locator('.account.in'))
    await this.dialog.waitFor({ state: 'hidden', timeout: PATIENCE_MS })
    await this.live()
  }

  /** Presses Buy until there is an order: simulated shoppers may take the last unit first. */
  async buy() {
    const order = this.page.locator('[data-order][data-state="pending"]').first()
    for (let presses = 1; ; presses++) {
      await this.page
        .locator('[data-does="buy"][aria-disabled="false"]')
        .last()
        .click({ timeout: OPENING_MS })
      try {
        await order.waitFor({ state: 'attached', timeout: PATIENCE_MS / 3 })
        return await order.getAttribute('data-order')
      } catch (error) {
        if (presses === 3) throw error
      }
    }
  }

  /** The order is among those of whoever is here; beside the page, or in the drawer of a phone. */
  async shows(order) {
    if (this.size === 'phone') await this.page.locator('.bag').click({ timeout: PATIENCE_MS })
    const place = this.size === 'phone' ? 'dialog[open]' : '.rail'
    await this.page.locator(`${place} [data-order="${order}"]`).waitFor({ timeout: PATIENCE_MS })
    if (this.size === 'phone') await this.page.keyboard.press('Escape')
  }
}
