import { readFile } from 'node:fs/promises'
import { expectNoProblems } from './browser.mjs'
import { Operator, windows } from './console.mjs'
import { stampede } from './program.mjs'
import { askRedis } from './mailbox.mjs'
import { Shopper } from './shopper.mjs'

const EMAIL = 'grace@shop.example'
const PASSWORD = 'a sentence that nobody guesses'

/**
 * What operators do when a sale is over, at the console of a real shop whose shoppers buy and pay meanwhile: `data` is
 * its folder, `redis` its embedded Redis. One log in for all of it; the pages are seen in both sizes and themes.
 */
export async function afterwards(report, browser, base, data, redis) {
  const who = ['user', 'add', EMAIL, '--role', 'operator', '--name', 'Grace', '--password']
  await stampede(data, who, `${PASSWORD}\n`)
  const operator = await Operator.open(browser, base, 'desktop', 'light', 'en-GB')
  const { page } = operator
  const press = (name) => page.locator('main').getByRole('button', { name, exact: true }).click()
  /** The same window in another size and theme. */
  const as = async (size, colorScheme) => {
    operator.name = `console-after-${size}-${colorScheme}`
    await page.setViewportSize(windows[size])
    await page.emulateMedia({ colorScheme })
  }
  await as('desktop', 'light')
  await operator.logIn(EMAIL, PASSWORD)
  const [first, second] = await (await Shopper.enter(base)).payFor(2)

  await report.check('console afterwards: a paid order is shipped, and its parcel corrected', async () => {
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
    await operator.soon(page.getByRole('dialog').locator('.changes'))
    await operator.confirm()
    await operator.soon(page.getByText('SF-22', { exact: true }))
    await operator.soon(page.locator('.open').nth(1)) // both are in its journal
    await operator.looks('order')
  })

  await report.check('console afterwards: the report of a sale is drawn, and saved as a file', async () => {
    await page.getByRole('link', { name: 'Report of the sale' }).click()
    await operator.soon(page.locator('canvas').nth(1))
    await operator.soon(page.locator('#balance'))
    await operator.looks('report', { fullPage: true })
    const [file] = await Promise.all([page.waitForEvent('download'), press('Download CSV')])
    const lines = (await readFile(await file.path(), 'utf8')).split('\n')
    if (lines[0] !== 'section,name,orders,units,fen' || lines.length < 15) throw new Error(lines.join('\n'))
    await as('tablet', 'dark')
    await operator.looks('report', { fullPage: true })
  })

  await report.check('console afterwards: a file of parcels is tried, then shipped', async () => {
    await operator.goTo('/ship', '[name=csv]')
    await page
      .locator('[name=csv]')
      .fill(`order,carrier,tracking\n${second},SF Express,SF-3\n12,SF Express,SF-4\n`)
    await press('Try it')
    await operator.soon(page.getByText('No such order'))
    await operator.looks('ship')
    await press('Ship 1 order')
    await operator.confirm()
    await operator.soon(page.getByRole('heading', { name: 'What became of each line' }))
    await page.getByRole('link', { name: second }).click()
    await operator.soon(page.getByText('SF-3', { exact: true }))
  })

  await report.check(
    'console afterwards: a payment leads to its order and its buyer, who is kept out',
    async () => {
      await as('desktop', 'dark')
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
      await operator.soon(page.locator('.chip.bad'))
      await operator.looks('user')
      await press('Remove')
      await operator.confirm()
      await operator.soon(page.getByText('Not blocked.'))
      await operator.goTo('/users', '[name=user]')
      await page.locator('[name=user]').fill('grace@')
      await press('Search')
      await operator.soon(page.getByRole('cell', { name: EMAIL }))
    },
  )

  await report.check(
    'console afterwards: an alarm leads into the runbook, and what is left over is dropped',
    async () => {
      await as('tablet', 'light')
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
      await operator.soon(page.locator('#dead-letters:focus'))
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
  await operator.close()
}
