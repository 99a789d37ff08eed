import { readFile } from 'node:fs/promises'
import { expectNoProblems, soon } from './browser.mjs'
import { Operator } from './console.mjs'
import { stampede } from './program.mjs'
import { askRedis } from './mailbox.mjs'
import { Shopper } from './shopper.mjs'

const EMAIL = 'grace@shop.example'
const PASSWORD = 'a sentence that nobody guesses'

/**
 * The console of a real shop, and an operator's work after a sale, while shoppers buy. `data` is the folder of the shop,
 * `redis` its embedded Redis.
 */
export async function consoleOfShop(report, browser, base, data, redis) {
  const user = ['user', 'add', EMAIL, '--role', 'operator', '--name', 'Grace', '--password']
  await stampede(data, user, `${PASSWORD}\n`)
  const operator = await Operator.open(browser, base)
  const { page } = operator
  operator.name = 'console-of-shop'
  const press = (name) => page.locator('main').getByRole('button', { name, exact: true }).click()
  const shopper = await Shopper.enter(base)
  const paid = shopper.payFor(2)
  paid.catch(() => undefined) // awaited below

  await report.check('console of a shop: an operator logs in and sees its numbers change', async () => {
    await operator.logIn(EMAIL, PASSWORD)
    await soon(page.locator('td.name').first())
    await soon(page.locator('#nodes'))
    const before = await page.locator('.clock').innerText()
    await page.waitForFunction((was) => document.querySelector('.clock').innerText !== was, before)
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 8)
    await operator.looks('board')
  })
  await report.check('console of a shop: its journal is there, and is verified', async () => {
    await operator.goTo('/journal', '[name=head]')
    await page.locator('.panel').getByRole('button', { name: 'Verify' }).click()
    await soon(page.locator('.good'))
  })
  await report.check('console of a shop: a sale gets more stock, is paused and resumed', async () => {
    await operator.goTo('', 'td.name a')
    await page.locator('td.name a').first().click()
    for (const name of ['Add stock', 'Pause', 'Resume']) {
      await press(name)
      await operator.confirm()
    }
    await soon(page.locator('.panel').getByRole('button', { name: 'Pause', exact: true }))
  })

  await report.check('console of a shop: a paid order is shipped, and its parcel corrected', async () => {
    const [first] = await paid
    await operator.goTo('/orders', 'tbody tr')
    await operator.looks('orders')
    await page.locator('[name=order]').fill(first)
    await press('Search')
    await page.getByRole('link', { name: first }).click()
    await press('Ship')
    await page.locator('[name=carrier]').fill('SF Express')
    await page.locator('[name=tracking]').fill('SF-1')
    await operator.confirm()
    await press('Correct the parcel')
    await page.locator('[name=tracking]').fill('SF-22')
    await soon(page.getByRole('dialog').locator('.changes'))
    await operator.confirm()
    await soon(page.getByText('SF-22', { exact: true }))
    await soon(page.locator('.open').nth(1)) // both are in its journal
    await operator.looks('order')
  })

  await report.check('console of a shop: the report of a sale is drawn, and downloaded', async () => {
    await page.getByRole('link', { name: 'Report of the sale' }).click()
    await soon(page.locator('canvas').nth(1))
    await soon(page.locator('#balance'))
    await operator.looks('report', { fullPage: true })
    const [file] = await Promise.all([page.waitForEvent('download'), press('Download CSV')])
    const lines = (await readFile(await file.path(), 'utf8')).split('\n')
    if (lines[0] !== 'section,name,orders,units,fen' || lines.length < 15) throw new Error(lines.join('\n'))
  })

  await report.check('console of a shop: a file of parcels is checked, then shipped', async () => {
    const [, second] = await paid
    await operator.goTo('/ship', '[name=csv]')
    await page
      .locator('[name=csv]')
      .fill(`order,carrier,tracking\n${second},SF Express,SF-3\n12,SF Express,SF-4\n`)
    await press('Try it')
    await soon(page.getByText('No such order'))
    await operator.looks('ship')
    await press('Ship 1 order')
    await operator.confirm()
    await soon(page.getByRole('heading', { name: 'What became of each line' }))
    await page.getByRole('link', { name: second }).click()
    await soon(page.getByText('SF-3', { exact: true }))
  })

  await report.check(
    'console of a shop: a payment leads to its order and its buyer, who is blocked',
    async () => {
      await page.emulateMedia({ colorScheme: 'dark' })
      await operator.goTo('/payments', 'tbody tr')
      await operator.looks('payments')
      const trade = await page.locator('td.trade').first().innerText()
      await page.locator('[name=payment]').fill(trade)
      await press('Search')
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
      await page.locator('td a').click()
      await page.locator('.links a').first().click()
      await press('Block')
      await page.locator('[name=reason]').fill('resells')
      await operator.confirm()
      await soon(page.locator('.chip.bad'))
      await operator.looks('user')
      await press('Remove')
      await operator.confirm()
      await soon(page.getByText('Not blocked.'))
      await operator.goTo('/users', '[name=user]')
      await page.locator('[name=user]').fill('grace@')
      await press('Search')
      await soon(page.getByRole('cell', { name: EMAIL }))
    },
  )

  await report.check(
    'console of a shop: an alarm leads to the runbook, and a dead letter is dropped',
    async () => {
      await page.emulateMedia({ colorScheme: 'light' })
      const letter = [
        'reason',
        'nobody can read it',
        'stream',
        '1-0',
        'deliveries',
        '5',
        'at',
        String(Date.now()),
      ]
      await askRedis(redis, ['XADD', 'stampede:{0}:dead', '*', 'torn', 'x', ...letter])
      await operator.goTo('', '.score')
      await page.locator('[role=alert] a').click()
      await soon(page.locator('#dead-letters:focus'))
      await operator.looks('runbook')
      await operator.goTo('/leftovers', 'tbody tr')
      await page.getByRole('button', { name: /^Look/ }).click()
      await operator.looks('leftovers')
      await page.getByRole('button', { name: /^Drop/ }).click()
      await operator.confirm()
      await page.waitForFunction(() => !document.querySelector('tbody tr'))
      expectNoProblems(page)
    },
  )
}
