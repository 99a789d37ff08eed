import {
  PATIENCE_MS,
  expectAccessible,
  expectNoProblems,
  expectNoSideways,
  appearances,
  scan,
  secondsLeft,
} from './browser.mjs'

/** Products of the demo of which one buyer may have one. */
const ONE_PER_BUYER = /Keyboard|Watch|Camera|Drone/

/**
 * Paying, as a shopper does it at the cashier of the simulated gateway, at every size and in every theme: the parts. They
 * work on a demo without simulated shoppers, so that nobody takes the units between two steps.
 */
export function paying(report, browser, base) {
  return appearances.map(
    ([size, theme]) =>
      () =>
        visit(report, browser, base, size, theme),
  )
}

async function visit(report, browser, base, size, theme) {
  const page = await browser.open(base, size, theme)
  const visit = new Visit(report, browser, page, size, `${size} ${theme}`)
  await visit.pay(base)
  if (size === 'desktop') await visit.payByPhone(base, theme)
  if (theme === 'light' && size === 'desktop') {
    await visit.lateRevived()
    await visit.lateRefunded()
  }
  await visit.check('reports no errors', () => expectNoProblems(page))
  await page.context().close()
}

/** After so many milliseconds the cashier leads back to the shop by itself (data-soon of its page). */
const SOON_MS = 3_000

/**
 * On a busy machine that is less than it takes to look at the page. It stays there until what this returns is called, and
 * then leaves as it would have. Its navigation must not be held instead: Chromium answers nothing about a page that waits for one.
 */
async function keepAtCashier(page) {
  await page.addInitScript((soon) => {
    if (!location.pathname.startsWith('/cashier/')) return
    const { setTimeout } = globalThis
    globalThis.setTimeout = (run, ms, ...given) =>
      ms === soon ? (globalThis.leave = run) && 0 : setTimeout(run, ms, ...given)
  }, SOON_MS)
  return () => page.evaluate(() => setTimeout(globalThis.leave))
}

/** One shopper with one page. */
class Visit {
  constructor(report, browser, page, size, name) {
    Object.assign(this, { browser, page, size, name })
    this.check = (what, run) => report.check(`paying, ${name}: ${what}`, run)
    this.shoot = (page, what) => browser.shoot(page, `paying-${name.replace(' ', '-')}-${what}`)
  }

  get orders() {
    return this.page.locator(this.size === 'phone' ? 'dialog[open] [data-order]' : '.rail [data-order]')
  }

  /** The order as it is shown, optionally only once it is in that state. */
  order(id, state) {
    return this.orders.and(this.page.locator(`[data-order="${id}"]${state ? `[data-state="${state}"]` : ''}`))
  }

  /** Presses Buy on a sale and answers the id of the order when it waits for its payment. */
  async buy(product = /./) {
    const seen = await this.orders.evaluateAll((all) => all.map((order) => order.dataset.order))
    const card = this.page.locator('[data-sale]').filter({ hasText: product })
    const buy = card.locator('[data-does="buy"]').first()
    const next = this.page.locator('.board .next')
    // A slot may have ended since the last order; the page stays on it until told to go on.
    await buy.or(next).first().waitFor({ timeout: PATIENCE_MS })
    if (!(await buy.isVisible())) await next.click()
    await buy.click({ timeout: PATIENCE_MS })
    if (this.size === 'phone') await this.page.locator('.bag').click()
    const others = seen.map((id) => `:not([data-order="${id}"])`).join('')
    const mine = this.orders.and(this.page.locator(`[data-state="pending"]${others}`))
    await mine.first().waitFor({ timeout: PATIENCE_MS })
    return mine.first().getAttribute('data-order')
  }

  /** Presses Pay, which on a desktop opens a sheet with two ways. */
  async pressPay(id) {
    await this.order(id)
      .getByRole('button', { name: /^Pay for/ })
      .click()
  }

  get sheet() {
    return this.page.getByRole('dialog', { name: /^Pay for/ })
  }

  /** Goes to the cashier in this browser and answers its page: another tab, or on a phone this one. */
  async toCashier(id) {
    await this.pressPay(id)
    if (this.size === 'phone') {
      await this.page.waitForURL(/\/cashier\//, { timeout: PATIENCE_MS })
      return this.page
    }
    const [tab] = await Promise.all([
      this.page.waitForEvent('popup', { timeout: PATIENCE_MS }),
      this.sheet.getByRole('button', { name: 'Pay in this browser' }).click(),
    ])
    await tab.waitForURL(/\/cashier\//, { timeout: PATIENCE_MS })
    return tab
  }

  async pay(base) {
    let id, cashier, leave
    await this.check('buys', async () => {
      await this.page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
      id = await this.buy()
      await this.shoot(this.page, 'topay')
      await expectAccessible(this.page)
      await expectNoSideways(this.page)
    })
    await this.check('Pay leads to the cashier, which shows what is to be paid', async () => {
      const shown = await this.order(id).locator('.what').innerText()
      cashier = await this.toCashier(id)
      const amount = await cashier.locator('.amount').innerText()
      const yuan = Number(amount.replace(/[^\d.]/g, ''))
      if (!shown.replaceAll(',', '').includes(yuan.toString()))
        throw new Error(`${amount}, in the shop: ${shown}`)
      await this.shoot(cashier, 'cashier')
      await expectAccessible(cashier)
      await expectNoSideways(cashier)
    })
    await this.check('pays', async () => {
      leave = await keepAtCashier(cashier)
      await cashier.getByRole('button', { name: 'Pay', exact: true }).click()
      await cashier.locator('main[data-state="paid"]').waitFor({ timeout: PATIENCE_MS })
      await this.shoot(cashier, 'paid')
      await expectAccessible(cashier)
    })
    if (this.size === 'desktop') {
      await this.check('the page turns to paid by push', () =>
        this.order(id, 'paid').waitFor({ timeout: PATIENCE_MS }),
      )
    }
    await this.check('comes back to the shop, and the order list says paid', async () => {
      await leave()
      await cashier.waitForURL(`${base}/`, { timeout: PATIENCE_MS })
      const there = cashier.locator(`[data-order="${id}"][data-state="paid"]`).filter({ visible: true })
      await there.first().waitFor({ timeout: PATIENCE_MS })
      await this.shoot(cashier, 'back')
      await expectAccessible(cashier)
      await expectNoSideways(cashier)
      if (cashier !== this.page) await cashier.close()
    })
  }

  /** Scans the code on the desktop with a phone and pays there. */
  async payByPhone(base, theme) {
    let id, address
    await this.check('Pay draws a code of the amount and the time left', async () => {
      id = await this.buy()
      await this.pressPay(id)
      await this.sheet.getByText(id).waitFor({ timeout: PATIENCE_MS })
      const code = this.sheet.getByRole('img', { name: id })
      await code.waitFor({ timeout: PATIENCE_MS })
      const amount = await this.sheet.locator('.amount').innerText()
      const shown = await this.order(id).locator('.what').innerText()
      if (!shown.includes(amount)) throw new Error(`${amount}, in the list: ${shown}`)
      const [ofOrder, ofTrade] = await Promise.all([this.order(id), this.sheet].map(secondsLeft))
      // The gateway counts in whole seconds, and the two are read one after the other.
      if (ofTrade >= ofOrder || ofTrade < ofOrder - 12) throw new Error(`${ofTrade} s of ${ofOrder} s`)
      address = await scan(this.page, code)
      await this.shoot(this.page, 'code')
      await expectAccessible(this.page)
      await expectNoSideways(this.page)
    })
    await this.check(
      'a phone that scans the code pays there, and the sheet turns to paid by push',
      async () => {
        const phone = await this.browser.open(address, 'phone', theme)
        await phone.waitForURL(/\/cashier\//, { timeout: PATIENCE_MS })
        await phone.getByText(id).waitFor({ timeout: PATIENCE_MS })
        await keepAtCashier(phone)
        await phone.getByRole('button', { name: 'Pay', exact: true }).click()
        await phone.locator('main[data-state="paid"]').waitFor({ timeout: PATIENCE_MS })
        await this.sheet.locator('[data-outcome="paid"]').waitFor({ timeout: PATIENCE_MS })
        await phone.context().close()
        await this.shoot(this.page, 'code-paid')
        await expectAccessible(this.page)
      },
    )
    await this.check('Done leads back to the order, which is paid', async () => {
      await this.page.keyboard.press('Enter') // the button has the focus
      await this.sheet.waitFor({ state: 'hidden', timeout: PATIENCE_MS })
      await this.order(id, 'paid').waitFor({ timeout: PATIENCE_MS })
    })
    await this.check('asks for the money back, but not without a reason', async () => {
      await this.order(id).getByRole('button', { name: 'Refund…' }).click()
      const form = this.page.getByRole('dialog', { name: 'Ask for a refund' })
      const send = form.getByRole('button', { name: 'Ask for the refund' })
      await send.click()
      await form.getByText('Please say why.').waitFor({ timeout: PATIENCE_MS })
      await this.shoot(this.page, 'refund')
      await expectAccessible(this.page)
      await form.getByRole('textbox').fill('It is too small.')
      await send.click()
      await this.order(id).getByText('You asked for your money back.').waitFor({ timeout: PATIENCE_MS })
    })
  }

  /** Opens the cashier, leaves it, and cancels the order: the trade is closed at the gateway. Answers its admin. */
  async abandon(id) {
    const cashier = await this.toCashier(id)
    const admin = new URL('/admin/', cashier.url()).href
    await cashier.close()
    await this.order(id)
      .getByRole('button', { name: /^Cancel/ })
      .click()
    await this.order(id, 'cancelled').waitFor({ timeout: PATIENCE_MS })
    return admin
  }

  /** The money arrives all the same. */
  async arrive(admin, id) {
    const answer = await this.page.request.post(`${admin}trades/${id}/late`)
    if (!answer.ok()) throw new Error(`the simulator: ${answer.status()} ${await answer.text()}`)
  }

  async lateRevived() {
    await this.check('late money revives the order while a unit is free', async () => {
      const id = await this.buy()
      await this.arrive(await this.abandon(id), id)
      await this.order(id, 'paid').waitFor({ timeout: PATIENCE_MS })
      await this.order(id).getByText('A unit was still free').waitFor({ timeout: PATIENCE_MS })
      await this.shoot(this.page, 'late-revived')
    })
  }

  async lateRefunded() {
    await this.check('late money goes back when the limit has been used meanwhile', async () => {
      const id = await this.buy(ONE_PER_BUYER)
      const admin = await this.abandon(id)
      await this.buy(ONE_PER_BUYER)
      await this.arrive(admin, id)
      await this.order(id, 'refunded').waitFor({ timeout: PATIENCE_MS })
      await this.order(id).getByText('You get your money back').waitFor({ timeout: PATIENCE_MS })
      await this.shoot(this.page, 'late-refunded')
      const ledger = await (await this.page.request.get(`${admin}ledger`)).json()
      const trade = ledger.trades.find(({ order }) => order === id)
      if (trade.refunded_fen !== trade.taken_fen) throw new Error(JSON.stringify(trade))
    })
  }
}
