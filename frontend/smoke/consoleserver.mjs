import { expectAccessible, expectNoProblems, PATIENCE_MS } from './browser.mjs'
import { Operator } from './console.mjs'
import { stampede } from './program.mjs'

const EMAIL = 'ada@shop.example'
const PASSWORD = 'a sentence that nobody guesses'

/** The console of a real shop, whose folder is `data`: its security policy, its accounts, its numbers. */
export async function consoleOnServer(report, browser, base, data) {
  await stampede(
    data,
    ['user', 'add', EMAIL, '--role', 'operator', '--name', 'Ada', '--password'],
    `${PASSWORD}\n`,
  )
  const operator = await Operator.open(browser, base, 'desktop', 'light', 'en-GB')
  const { page } = operator
  await report.check('console of a real shop: an operator logs in and sees its numbers move', async () => {
    await operator.logIn(EMAIL, PASSWORD)
    await operator.soon(page.locator('td.name').first())
    await operator.soon(page.locator('#nodes'))
    const before = await page.locator('.clock').innerText()
    await page.waitForFunction((was) => document.querySelector('.clock').innerText !== was, before)
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length > 8, undefined, {
      timeout: PATIENCE_MS,
    })
    await browser.shoot(page, 'console-of-a-real-shop')
    await expectAccessible(page)
    expectNoProblems(page)
  })
  await report.check('console of a real shop: its journal is there, and is verified', async () => {
    await operator.goTo('/journal', '[name=head]')
    await page.locator('.panel').getByRole('button', { name: 'Verify' }).click()
    await operator.soon(page.locator('.good'))
    expectNoProblems(page)
  })
  await report.check('console of a real shop: a sale gets more stock, is paused and goes on', async () => {
    const button = (name) => page.locator('.panel').getByRole('button', { name, exact: true })
    await operator.goTo('', 'td.name a')
    await page.locator('td.name a').first().click()
    for (const name of ['Add stock', 'Pause', 'Resume']) {
      await button(name).click()
      await operator.confirm()
    }
    await operator.soon(button('Pause'))
    expectNoProblems(page)
  })
  await operator.close()
}
