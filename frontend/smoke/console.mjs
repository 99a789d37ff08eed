import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

const PASSWORD = 'a sentence that nobody guesses'
export const windows = {
  tablet: { width: 768, height: 1024 },
  desktop: { width: 1440, height: 900 },
}

/** The operators' console on a stand-in: every page in both sizes and themes, and the acts with what can happen to them. */
export async function operators(report, browser) {
  const standIn = new StandIn()
  const base = await standIn.start()
  standIn.accounts.add('ada@shop.example', PASSWORD, 'Ada', undefined, 'operator')
  standIn.accounts.add('lee@shop.example', PASSWORD, 'Lee')
  // Half of them look at every page, the others at the two on which a sale is followed.
  for (const [size, theme, lang, all] of [
    ['tablet', 'dark', 'zh-CN', true],
    ['desktop', 'light', 'en-GB', true],
    ['tablet', 'light', 'en-GB', false],
    ['desktop', 'dark', 'zh-CN', false],
  ]) {
    const operator = await Operator.open(browser, base, size, theme, lang)
    await pages(report, operator, standIn, all)
    if (size === 'desktop' && theme === 'light') await acts(report, operator, standIn)
    await operator.close()
  }
  await report.check('console: who is no operator is told so', async () => {
    const operator = await Operator.open(browser, base, 'desktop', 'light', 'en-GB')
    await operator.logIn('lee@shop.example')
    await operator.soon(operator.page.getByRole('heading', { name: 'Lee may not work here' }))
    await expectAccessible(operator.page)
    await operator.close()
  })
  standIn.close()
}

/** Somebody who works at the console. */
export class Operator {
  static async open(browser, base, size, theme, locale) {
    const viewport = windows[size]
    const reducedMotion = 'reduce'
    const context = await browser.chromium.newContext({ viewport, colorScheme: theme, locale, reducedMotion })
    const operator = new Operator()
    Object.assign(operator, { browser, base, name: `console-${size}-${theme}` })
    operator.page = await context.newPage()
    operator.page.problems = []
    operator.page.reducedMotion = reducedMotion
    operator.page.on('console', (m) => m.type() === 'error' && operator.page.problems.push(m.text()))
    operator.page.on('pageerror', (error) => operator.page.problems.push(String(error)))
    await operator.page.goto(`${base}/console`)
    return operator
  }

  soon(locator, state = 'visible') {
    return locator.waitFor({ state, timeout: PATIENCE_MS })
  }

  async logIn(email, password = PASSWORD) {
    await this.page.locator('[name=email]').fill(email)
    await this.page.locator('[name=password]').fill(password)
    await this.page.keyboard.press('Enter')
  }

  async goTo(path, sight) {
    await this.page.locator(`nav a[href="/console${path}"]`).click()
    await this.soon(this.page.locator(sight).first())
  }

  /** Says yes to what is asked, and waits until it is done. */
  async confirm() {
    const dialog = this.page.getByRole('dialog')
    await dialog.locator('[type=submit]').click()
    await this.soon(dialog, 'hidden')
    await this.soon(this.page.locator('.outcome p'))
  }

  shoot(what, options) {
    return this.browser.shoot(this.page, `${this.name}-${what}`, options)
  }

  async looks(what, options) {
    await this.shoot(what, options)
    await expectAccessible(this.page)
    await expectNoSideways(this.page)
  }

  close() {
    return this.page.context().close()
  }
}

/** Every page is there, readable, and reached by a link. */
async function pages(report, operator, standIn, all) {
  const { page } = operator
  await report.check(`${operator.name}: logs in with the keyboard, and sees the board move`, async () => {
    await operator.soon(page.locator('[name=email]'))
    if (all) await operator.looks('login')
    await operator.logIn('ada@shop.example')
    await operator.soon(page.locator('.score'))
    await operator.soon(page.locator('canvas').first())
    standIn.operator.alarms = [
      {
        name: 'nothing_moving',
        since: Date.now() - 14_000,
        says: 'Buys come in or wait for their rows, and for 10 s none was confirmed.',
        do: 'Look whether workers run.',
        link: 'deploy/RUNBOOK.md#nothing-is-moving',
      },
    ]
    await operator.soon(page.locator('[role=alert] .says'))
    await operator.looks('board')
    standIn.operator.alarms = []
    await operator.soon(page.locator('[role=alert] .says'), 'hidden')
  })
  if (all) {
    await report.check(`${operator.name}: every page is there, accessible and fits`, async () => {
      for (const [path, sight] of [
        ['/broadcast', '[name=text]'],
        ['/blocks', '[name=value]'],
        ['/orders', '[name=order]'],
        ['/refunds', '.state'],
        ['/journal', '[name=head]'],
      ]) {
        await operator.goTo(path, sight)
        await operator.looks(path.slice(1))
      }
      await page.reload() // a deep link, and a log in that outlives the page
      await operator.soon(page.locator('[name=head]'))
    })
  }
  await report.check(`${operator.name}: the page of a sale is accessible and fits`, async () => {
    await operator.goTo('', '.score')
    await page.locator('td.name a').first().click()
    await operator.soon(page.locator('#acts'))
    await operator.looks('sale')
    expectNoProblems(page)
  })
}

/** Acts: asked before, done once, told, undone, and followed by the page of a shopper. */
async function acts(report, operator, standIn) {
  const { page } = operator
  const { journal } = standIn.operator
  const press = (name) => page.locator('.panel').getByRole('button', { name, exact: true }).click()
  const last = () => journal.at(-1)
  const expectLast = (kind, rows) => {
    if (last()?.kind !== kind || journal.length !== rows)
      throw new Error(`the journal has ${journal.length} rows, the last is ${JSON.stringify(last())}`)
  }

  await report.check('console: stock is added once, though the answers are lost', async () => {
    standIn.operator.lostAnswers = 2
    await press('Add stock')
    await page.locator('[name=note]').fill('more came in')
    await operator.shoot('add')
    await operator.confirm()
    expectLast('sale.stock', 1)
    if (last().after.added !== 100 || last().note !== 'more came in') throw new Error(JSON.stringify(last()))
  })
  await report.check('console: a sale is paused, and the pause taken back', async () => {
    await press('Pause')
    await operator.confirm()
    await operator.soon(page.locator('.panel').getByRole('button', { name: 'Resume', exact: true }))
    await page.locator('.outcome').getByRole('button', { name: 'Undo' }).click()
    await operator.soon(page.locator('.panel').getByRole('button', { name: 'Pause', exact: true }))
    expectLast('sale.pause.undo', 3)
  })
  await report.check(
    'console: who acts on what somebody else has changed is told how it is now',
    async () => {
      await press('Pause')
      const sale = standIn.shop.sales.get(page.url().split('/').at(-1))
      const other = { actor: 'Bob', key: 'bob-was-first', body: { version: last().seq + 1 } }
      standIn.operator.answer('POST', `/sales/${sale.id}/pause`, other)
      await page.getByRole('dialog').locator('[type=submit]').click()
      await operator.soon(page.getByRole('dialog').getByText('Somebody else has changed it'))
      expectLast('sale.pause', 4)
      await page.keyboard.press('Escape')
      await operator.soon(page.getByRole('dialog'), 'hidden')
    },
  )
  await report.check('console: a sale ends early only by its name', async () => {
    await press('End early')
    const submit = page.getByRole('dialog').locator('[type=submit]')
    if (await submit.isEnabled()) throw new Error('nothing was typed')
    await page.locator('[name=typed]').fill(await page.locator('h1').innerText())
    await operator.looks('end')
    await operator.confirm()
    expectLast('sale.end', 5)
  })
  await report.check(
    'console: a notice is on the page of a shopper, and is gone when it is taken back',
    async () => {
      const shopper = await operator.browser.open(operator.base, 'desktop', 'dark')
      await operator.soon(shopper.locator('[data-sale]').first())
      await operator.goTo('/broadcast', '[name=text]')
      await page.locator('[name=text]').fill('More kettles at noon. <b>Really.</b>')
      await press('Tell everybody')
      await operator.confirm()
      const told = shopper.locator('.message').filter({ hasText: 'From the shop: More kettles at noon. <b>' })
      await operator.soon(told)
      await operator.browser.shoot(shopper, 'console-notice-at-the-shopper')
      await shopper.locator('.lang').click()
      await operator.soon(shopper.locator('.message').filter({ hasText: '商城公告：' }))
      await expectAccessible(shopper)
      await operator.soon(page.locator('.shown .text'))
      await press('Take it back')
      await operator.confirm()
      await operator.soon(shopper.locator('.message'), 'hidden')
      await shopper.context().close()
    },
  )
  await report.check('console: switches show what will change, and somebody is kept out', async () => {
    const rows = journal.length
    await page.locator('.el-switch').click()
    await press('Apply')
    await operator.shoot('switches')
    await operator.confirm()
    expectLast('switches.set', rows + 1)
    if (standIn.operator.switches.http_buy) throw new Error('buying over HTTP is still on')
    await operator.goTo('/blocks', '[name=value]')
    await page.locator('[name=value]').fill('7301444403200000101')
    await press('Block')
    await operator.confirm()
    await operator.soon(page.getByRole('cell', { name: '7301444403200000101', exact: true }))
    expectLast('block.add', rows + 2)
  })
  await report.check('console: a refund is decided', async () => {
    const rows = journal.length
    const refund = { order: '7301444480512999001', state: 'asked', amount_fen: 12_900, reason: 'too late' }
    standIn.operator.refunds.push({ ...refund, request: 'r', asked_at: Date.now(), attempts: 0 })
    await operator.goTo('/refunds', 'tbody tr')
    await operator.looks('refunds')
    await page.getByRole('button', { name: 'Give back:' }).click()
    await operator.confirm()
    await operator.soon(page.locator('tbody tr'), 'hidden')
    expectLast('refund.approve', rows + 1)
  })
  await report.check('console: the journal has it all, and is verified', async () => {
    await operator.goTo('/journal', '.open')
    await press('Verify')
    await operator.soon(page.locator('.good'))
    await page.locator('.open').filter({ hasText: 'Stock changed' }).click()
    await operator.soon(page.locator('.changes'))
    await operator.looks('journal-open')
    await page.getByRole('button', { name: 'Log out' }).click()
    await operator.soon(page.locator('[name=email]'))
  })
}
