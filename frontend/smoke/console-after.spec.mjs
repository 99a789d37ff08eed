import { readFile } from 'node:fs/promises'
import { expectNoProblems, soon } from './browser.mjs'
import { test } from './fixtures.mjs'
import { Operator } from './console.mjs'
import { stampede } from './program.mjs'
import { callRedis } from './mailbox.mjs'
import { Shopper } from './shopper.mjs'

const EMAIL = 'grace@shop.example'
const SHOPPER = 'lee@shop.example'
const PASSWORD = 'a sentence that nobody guesses'

/** The console of a real shop, and an operator's work after a sale, while shoppers buy. */
test('console of a shop', async ({ open, busy: base, busyData: data, busyRedis: redis }) => {
  const user = ['user', 'add', EMAIL, '--role', 'operator', '--name', 'Grace', '--password']
  await stampede(data, user, `${PASSWORD}\n`)
  await stampede(data, ['user', 'add', SHOPPER, '--name', 'Lee', '--password'], `${PASSWORD}\n`)
  const operator = await Operator.open(open, base)
  const { page } = operator
  operator.name = 'console-of-shop'
  const click = (name) => page.locator('main').getByRole('button', { name, exact: true }).click()
  const shopper = await Shopper.enter(base)
  const button = (name) => page.locator('.panel').getByRole('button', { name, exact: true })
  const inverse = (name) => page.locator('.outcome').getByRole('button', { name, exact: true }).click()
  const journal = async () => JSON.parse(await stampede(data, ['journal', 'list', '--json', '--limit', '50']))
  /** Removes the browser's messages about an expected failure. */
  const expect = (text) => (page.problems = page.problems.filter((problem) => !problem.includes(text)))
  const paid = shopper.payFor(2)
  paid.catch(() => undefined) // awaited below

  await test.step('an operator logs in and sees its numbers change', async () => {
    await soon(page.locator('[name=email]'))
    await operator.checkPage('login')
    await operator.logIn(EMAIL, PASSWORD)
    await soon(page.locator('td.name').first())
    await soon(page.locator('#nodes'))
    const before = await page.locator('.clock').innerText()
    await page.waitForFunction((was) => document.querySelector('.clock').innerText !== was, before)
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 8)
    await operator.checkPage('board')
  })
  await test.step('stock is added once although two responses are lost', async () => {
    await operator.goTo('', 'td.name a')
    await page.locator('td.name a').first().click()
    await soon(page.locator('#acts'))
    await operator.checkPage('sale')
    let lost = 0
    const lose = async (route) => {
      await route.fetch()
      lost++
      await route.abort()
    }
    await page.route('**/operator/sales/*/stock', lose, { times: 2 })
    await click('Add stock')
    await page.locator('[name=units]').fill('100')
    await page.locator('[name=note]').fill('new delivery')
    await operator.confirm()
    const added = (await journal()).filter(({ kind }) => kind === 'sale.add_stock')
    if (lost !== 2 || added.length !== 1 || added[0].note !== 'new delivery')
      throw new Error(`${lost} responses lost: ${JSON.stringify(added)}`)
    expect('ERR_FAILED')
  })
  await test.step('a sale is paused, and resumed from the outcome bar', async () => {
    await click('Pause')
    await operator.confirm()
    await soon(button('Resume'))
    await inverse('Resume')
    await soon(button('Pause'))
  })
  await test.step('an operation on a sale that has changed reports the change', async () => {
    const dialog = page.getByRole('dialog')
    await click('Pause')
    await soon(dialog)
    await stampede(data, ['sale', 'pause', page.url().split('/').at(-1)])
    await dialog.locator('[type=submit]').click()
    await soon(dialog.getByText('Another operator has changed this'))
    expect('status of 409')
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await click('Resume')
    await operator.confirm()
    await soon(button('Pause'))
  })
  await test.step('a switch is changed and changed back', async () => {
    await operator.goTo('/broadcast', '.el-switch.is-checked')
    await operator.checkPage('broadcast')
    await page.locator('.el-switch').click()
    await click('Apply')
    await operator.confirm()
    const shown = () => stampede(data, ['switch', 'show', '--json'])
    if (!/"http_buy": ?false/.test(await shown())) throw new Error(await shown())
    await page.locator('.el-switch').click()
    await click('Apply')
    await operator.confirm()
    await soon(page.locator('.el-switch.is-checked'))
  })

  await test.step('a paid order is shipped, and its parcel is corrected', async () => {
    const [first] = await paid
    await operator.goTo('/orders', 'tbody tr')
    await operator.checkPage('orders')
    await page.locator('[name=order]').fill(first)
    await click('Search')
    await page.getByRole('link', { name: first }).click()
    await click('Ship')
    await page.locator('[name=carrier]').fill('SF Express')
    await page.locator('[name=tracking]').fill('SF-1')
    await operator.confirm()
    await click('Correct the parcel')
    await page.locator('[name=tracking]').fill('SF-22')
    await soon(page.getByRole('dialog').locator('.changes'))
    await operator.confirm()
    await soon(page.getByText('SF-22', { exact: true }))
    await soon(page.locator('.open').nth(1)) // the audit log contains both operations
    await operator.checkPage('order')
  })

  await test.step('the report of a sale is drawn and can be downloaded', async () => {
    await page.getByRole('link', { name: 'Report of the sale' }).click()
    await soon(page.locator('canvas').nth(1))
    await soon(page.locator('#balance'))
    await operator.checkPage('report', { fullPage: true })
    const [file] = await Promise.all([page.waitForEvent('download'), click('Download CSV')])
    const lines = (await readFile(await file.path(), 'utf8')).split('\n')
    if (lines[0] !== '\ufeffsection,name,orders,units,fen' || lines.length < 15)
      throw new Error(lines.join('\n'))
  })

  await test.step('a parcel file is previewed and then shipped', async () => {
    const [, second] = await paid
    await operator.goTo('/ship', '[name=csv]')
    await page
      .locator('[name=csv]')
      .fill(`order,carrier,tracking\n${second},SF Express,SF-3\n12,SF Express,SF-4\n`)
    await click('Preview')
    await soon(page.getByText('No such order'))
    await operator.checkPage('ship')
    await click('Ship 1 order')
    await operator.confirm()
    await soon(page.getByRole('heading', { name: 'Result of each line' }))
    await page.getByRole('link', { name: second }).click()
    await soon(page.getByText('SF-3', { exact: true }))
  })

  await test.step('an operator refunds an order from its page', async () => {
    const [, second] = await paid
    await click('Refund')
    const submit = page.getByRole('dialog').locator('[type=submit]')
    await soon(submit)
    await operator.checkPage('refund-dialog')
    if (await submit.isEnabled()) throw new Error('a refund without a reason can be sent')
    await page.locator('[name=reason]').fill('damaged')
    await operator.confirm()
    await soon(page.locator('#order .chip').filter({ hasText: /Refunding|Refunded/ }))
    await soon(button('Refund'), 'hidden')
    const [last] = await journal()
    if (last.kind !== 'refund.approve' || last.object !== `order:${second}` || last.note !== 'damaged')
      throw new Error(JSON.stringify(last))
  })

  await test.step('an operator refunds a payment that fits no order, for a reason', async () => {
    const anomaly = {
      trade_no: '2026112922001400999999999999', // the simulator uses none of this size
      order: '1790000000000000001',
      amount_fen: 19800,
      paid_at: Date.now(),
      seen_at: Date.now(),
      outcome: 'unknown_order',
    }
    let sent
    await page.route('**/operator/payments?*', async (route) => {
      const response = await route.fetch()
      const list = await response.json()
      await route.fulfill({ response, json: { ...list, payments: [anomaly, ...list.payments] } })
    })
    await page.route('**/operator/payments/refund', async (route) => {
      sent = route.request().postDataJSON()
      await route.fulfill({ json: { payments: 1, amount_fen: anomaly.amount_fen } })
    })
    await operator.goTo('/payments', 'tbody tr')
    await button('Refund').click()
    await soon(page.getByRole('dialog').locator('[type=submit]'))
    await operator.checkPage('payment-refund-dialog')
    await page.locator('[name=reason]').fill('its order is lost')
    await operator.confirm()
    await soon(page.getByText('Payments that are refunded: 1'))
    if (sent.trade_no !== anomaly.trade_no || sent.note !== 'its order is lost')
      throw new Error(JSON.stringify(sent))
    await page.unrouteAll()
    await page.reload() // without the added payment
  })

  await test.step('a payment links to its order and buyer, and the buyer is blocked', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    await operator.goTo('/payments', 'tbody tr')
    await operator.checkPage('payments')
    const trade = await page.locator('td.trade').first().innerText()
    await page.locator('[name=payment]').fill(trade)
    await click('Search')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await page.locator('td a').click()
    await page.locator('.links a').first().click()
    await click('Block')
    await page.locator('[name=reason]').fill('resells')
    await operator.confirm()
    await soon(page.locator('.chip.bad'))
    await operator.checkPage('user')
    await click('Remove')
    await operator.confirm()
    await soon(page.getByText('Not blocked.'))
    await operator.goTo('/users', '[name=user]')
    await page.locator('[name=user]').fill('grace@')
    await click('Search')
    await soon(page.getByRole('cell', { name: EMAIL }))
  })

  await test.step('an alarm links to the runbook, and a dead letter is dropped', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    const letter = [
      'reason',
      'unreadable entry',
      'stream',
      '1-0',
      'deliveries',
      '5',
      'at',
      String(Date.now()),
    ]
    await callRedis(redis, ['XADD', 'stampede:{0}:dead', '*', 'torn', 'x', ...letter])
    await operator.goTo('', '.score')
    await soon(page.locator('[role=alert] a'))
    await operator.checkPage('alarm')
    await page.locator('[role=alert] a').click()
    await soon(page.locator('#dead-letters:focus'))
    await operator.checkPage('runbook')
    await operator.goTo('/leftovers', 'tbody tr')
    await page.getByRole('button', { name: /^View/ }).click()
    await operator.checkPage('leftovers')
    await page.getByRole('button', { name: /^Drop/ }).click()
    await operator.confirm()
    await page.waitForFunction(() => !document.querySelector('tbody tr'))
  })

  await test.step('an operator approves a refund', async () => {
    const [first] = await paid
    await shopper.request('POST', `/orders/${first}/refund`, { reason: 'too late' })
    const row = page.locator('tbody tr').filter({ hasText: first })
    await operator.goTo('/refunds', 'h1')
    await soon(row)
    await operator.checkPage('refunds')
    await row.getByRole('button', { name: 'Refund:' }).click()
    await operator.confirm()
    await soon(row, 'hidden')
  })

  await test.step('pages in the dark theme are accessible and fit on a tablet', async () => {
    await page.setViewportSize({ width: 768, height: 1024 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await operator.goTo('', '.score')
    await operator.checkPage('tablet-board')
    await page.locator('td.name a').first().click()
    await soon(page.locator('#acts'))
    await operator.checkPage('tablet-sale')
    await operator.goTo('/blocks', '[name=value]')
    await operator.checkPage('tablet-blocks')
  })

  await test.step('the journal contains the operations and can be verified', async () => {
    await operator.goTo('/journal', '.open')
    await page.reload() // a deep link, with a login that survives the reload
    await soon(page.locator('[name=head]'))
    await click('Verify')
    await soon(page.locator('.good'))
    await page.locator('.open').filter({ hasText: 'Stock added' }).first().click()
    await soon(page.locator('.changes'))
    await operator.checkPage('journal-open')
    expectNoProblems(page)
  })

  await test.step('a shopper cannot use the console', async () => {
    await page.getByRole('button', { name: 'Log out' }).click()
    await soon(page.locator('[name=email]'))
    await operator.logIn(SHOPPER, PASSWORD)
    await soon(page.getByRole('heading', { name: 'Lee cannot use the console' }))
    const [, second] = await paid
    await page.goto(`${base}/console/orders/${second}`)
    await soon(page.getByRole('heading', { name: 'Lee cannot use the console' }))
    if (await page.getByRole('button', { name: 'Refund' }).isVisible())
      throw new Error('a shopper sees Refund')
    await operator.checkPage('shopper')
  })
})
