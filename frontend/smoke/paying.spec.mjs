import {
  ADDRESS,
  confirmation,
  expectNoProblems,
  live,
  reviewPage,
  scan,
  soon,
  takeShot,
  toShop,
} from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'
import { stampede } from './program.mjs'

/** Products of the demo with a limit of one per buyer. */
const ONE_PER_BUYER = /Keyboard|Watch|Camera|Drone/

/** A shopper pays at the simulated gateway, on a demo without simulated shoppers, so that all units stay available. */
for (const look of [desktopLight, phoneDark])
  test(`paying, ${look.size}`, async ({ open, quiet: base, quietData }) => {
    const page = await open(base, { ...look, address: ADDRESS })
    const visit = new Visit(open, page, look)
    const id = await visit.pay(base)
    if (look.size === 'desktop') {
      await visit.receive(id, base, quietData)
      await visit.payByPhone()
      await visit.lateRevived()
      await visit.lateRefunded()
    }
    await test.step('reports no errors', () => expectNoProblems(page))
  })

/** The time after which the cashier page returns to the shop automatically (its data-soon attribute). */
const SOON_MS = 3_000

/**
 * Keeps the page at the cashier until the returned function is called, because SOON_MS may be too short for the checks.
 * Holding the navigation does not work: Chromium does not respond for a page with a pending navigation.
 */
async function stayAtCashier(page) {
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
  constructor(open, page, { size, theme }) {
    Object.assign(this, { open, page, size, theme })
    this.checkPage = (page, what) => reviewPage(page, `paying-${size}-${theme}-${what}`)
  }

  get orders() {
    return this.page.locator(this.size === 'phone' ? 'main [data-order]' : '.rail [data-order]')
  }

  /** The displayed order, optionally only in the given state. */
  order(id, state) {
    return this.orders.and(this.page.locator(`[data-order="${id}"]${state ? `[data-state="${state}"]` : ''}`))
  }

  /** Clicks Buy on a sale and returns the id of the order when it waits for payment. */
  async buy(product = /./) {
    const seen = await this.orders.evaluateAll((all) => all.map((order) => order.dataset.order))
    const card = this.page.locator('[data-sale]').filter({ hasText: product })
    const buy = card.locator('[data-action="buy"]').first()
    const next = this.page.locator('.board .next')
    // The slot may have ended since the last order. The page stays on it until the shopper clicks Next.
    await soon(buy.or(next).first())
    if (!(await buy.isVisible())) await next.click()
    await buy.click()
    if (this.size === 'phone') await this.page.locator('.bag').click()
    const others = seen.map((id) => `:not([data-order="${id}"])`).join('')
    const mine = this.orders.and(this.page.locator(`[data-state="pending"]${others}`))
    await soon(mine.first())
    return mine.first().getAttribute('data-order')
  }

  /** Clicks Pay. On a desktop this opens a sheet with two payment methods. */
  async clickPay(id) {
    await this.order(id)
      .getByRole('button', { name: /^Pay for/ })
      .click()
  }

  get sheet() {
    return this.page.getByRole('dialog', { name: /^Pay for/ })
  }

  /** Opens the cashier in this browser and returns its page: a new tab, or the same tab on a phone. */
  async toCashier(id) {
    await this.clickPay(id)
    if (this.size === 'phone') {
      await this.page.waitForURL(/\/cashier\//)
      return this.page
    }
    const [tab] = await Promise.all([
      this.page.waitForEvent('popup'),
      this.sheet.getByRole('button', { name: 'Pay in this browser' }).click(),
    ])
    await tab.waitForURL(/\/cashier\//)
    return tab
  }

  async pay(base) {
    let id, cashier, leave
    await test.step('Buy creates an order', async () => {
      await live(this.page)
      id = await this.buy()
      await this.checkPage(this.page, 'topay')
    })
    await test.step('Pay opens the cashier, which shows the amount', async () => {
      const shown = await this.order(id).locator('.what').innerText()
      cashier = await this.toCashier(id)
      const amount = await cashier.locator('.amount').innerText()
      const yuan = Number(amount.replace(/[^\d.]/g, ''))
      if (!shown.replaceAll(',', '').includes(yuan.toString()))
        throw new Error(`${amount}, in the shop: ${shown}`)
      await this.checkPage(cashier, 'cashier')
    })
    await test.step('the cashier accepts the payment', async () => {
      leave = await stayAtCashier(cashier)
      await cashier.getByRole('button', { name: 'Pay', exact: true }).click()
      await soon(cashier.locator('main[data-state="paid"]'))
      await this.checkPage(cashier, 'paid')
    })
    if (this.size === 'desktop') {
      await test.step('the page shows the paid order after the order event', () =>
        this.order(id, 'paid').waitFor())
    }
    await test.step('the cashier returns to the order, which is paid; Back leads to the shop', async () => {
      await leave()
      await cashier.waitForURL(`${base}/order/${id}`)
      const there = cashier.locator(`[data-order="${id}"][data-state="paid"]`).filter({ visible: true })
      await there.first().waitFor()
      await this.checkPage(cashier, 'back')
      await cashier.goBack()
      await soon(cashier.locator('[data-sale]').first())
      if (cashier !== this.page) await cashier.close()
    })
    return id
  }

  /** The shop ships a paid order, and the buyer confirms the receipt on the page of the order. */
  async receive(id, base, data) {
    await test.step('a shipped order shows its carrier once', async () => {
      const token = (await stampede(data, ['token', '--user', '1', '--role', 'admin'])).trim()
      const operator = { STAMPEDE_URL: base, STAMPEDE_TOKEN: token }
      const parcel = ['--carrier', 'SF Express', '--tracking', 'SF1']
      await stampede(data, ['order', 'ship', id, ...parcel], undefined, operator)
      await this.order(id, 'shipped').locator('h3 a').click()
      await soon(this.page.locator('[data-order-page] [data-step="shipped"]'))
      const carriers = (await this.page.locator('main').innerText()).match(/SF Express/g)
      if (carriers.length !== 1) throw new Error(`the carrier is shown ${carriers.length} times`)
    })
    await test.step('I received it asks, and dismissing changes nothing', async () => {
      const main = this.page.locator('main')
      const receive = main.getByRole('button', { name: 'I received it' })
      await receive.click()
      await soon(confirmation(this.page))
      await this.checkPage(this.page, 'received')
      await this.page.keyboard.press('Escape')
      await soon(this.page.locator('dialog[open]'), 'hidden')
      await soon(main.locator('[data-order][data-state="shipped"]'))
      await receive.click()
      await confirmation(this.page).click()
      await soon(main.locator('[data-order][data-state="finished"]'))
      await toShop(this.page)
    })
  }

  /** Scans the code on the desktop with a phone and pays there. */
  async payByPhone() {
    let id, address
    await test.step('Pay shows a QR code and the amount', async () => {
      id = await this.buy()
      await this.clickPay(id)
      await soon(this.sheet.getByText(id))
      const code = this.sheet.getByRole('img', { name: id })
      await code.waitFor()
      const amount = await this.sheet.locator('.amount').innerText()
      const shown = await this.order(id).locator('.what').innerText()
      if (!shown.includes(amount)) throw new Error(`${amount}, in the list: ${shown}`)
      address = await scan(this.page, code)
      await this.checkPage(this.page, 'code')
    })
    await test.step('a phone that scans the code pays there, and the sheet shows the payment', async () => {
      const phone = await this.open(address, { size: 'phone', theme: 'light' })
      await phone.waitForURL(/\/cashier\//)
      await soon(phone.getByText(id))
      await stayAtCashier(phone)
      await phone.getByRole('button', { name: 'Pay', exact: true }).click()
      await soon(phone.locator('main[data-state="paid"]'))
      const outcome = this.sheet.locator('[data-outcome="paid"]')
      await outcome.getByText('Thank you!').waitFor()
      await outcome.getByText('We ship to Sample Shopper').waitFor()
      await outcome.getByText('parcel number').waitFor()
      await this.checkPage(this.page, 'code-paid')
    })
    await test.step('Done closes the sheet, and the order is paid', async () => {
      await this.page.keyboard.press('Enter') // the button has the focus
      await this.sheet.waitFor({ state: 'hidden' })
      await soon(this.order(id, 'paid'))
    })
    await test.step('a refund request requires a reason', async () => {
      await this.order(id).getByRole('button', { name: 'Refund…' }).click()
      const form = this.page.getByRole('dialog', { name: 'Request a refund' })
      const send = form.getByRole('button', { name: 'Send the request' })
      await send.click()
      await form.getByText('Please enter a reason.').waitFor()
      await this.checkPage(this.page, 'refund')
      await form.getByRole('textbox').fill('It is too small.')
      await send.click()
      await soon(this.order(id).getByText('You requested a refund.'))
    })
  }

  /**
   * Opens the cashier, leaves it, and cancels the order, which closes the trade. Returns the URL of the gateway's admin
   * API.
   */
  async abandon(id) {
    const cashier = await this.toCashier(id)
    const admin = new URL('/admin/', cashier.url()).href
    await cashier.close()
    await this.order(id)
      .getByRole('button', { name: /^Cancel/ })
      .click()
    await confirmation(this.page).click()
    await soon(this.order(id, 'cancelled'))
    return admin
  }

  /** Makes the gateway report the payment although the trade is closed. */
  async arrive(admin, id) {
    const answer = await this.page.request.post(`${admin}trades/${id}/late`)
    if (!answer.ok()) throw new Error(`the simulator: ${answer.status()} ${await answer.text()}`)
  }

  async lateRevived() {
    await test.step('a late payment restores the order while a unit is free', async () => {
      const id = await this.buy()
      await this.arrive(await this.abandon(id), id)
      await soon(this.order(id, 'paid'))
      await soon(this.order(id).getByText('Units were still available'))
      await takeShot(this.page, 'paying-late-revived')
    })
  }

  async lateRefunded() {
    await test.step('a late payment is refunded if the buyer has reached the limit meanwhile', async () => {
      const id = await this.buy(ONE_PER_BUYER)
      const admin = await this.abandon(id)
      await this.buy(ONE_PER_BUYER)
      await this.arrive(admin, id)
      await soon(this.order(id, 'refunded'))
      await soon(this.order(id).getByText('You will get a refund'))
      await takeShot(this.page, 'paying-late-refunded')
      const ledger = await (await this.page.request.get(`${admin}ledger`)).json()
      const trade = ledger.trades.find(({ order }) => order === id)
      if (trade.refunded_fen !== trade.taken_fen) throw new Error(JSON.stringify(trade))
    })
  }
}
