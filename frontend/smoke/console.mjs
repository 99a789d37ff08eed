import { expectNoProblems, soon } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

const PASSWORD = 'a sentence that nobody guesses'

/** The operators' console on a stand-in: every page; and on a desktop, the operations with their failures. */
export async function operators(report, browser, look) {
  const standIn = new StandIn()
  const base = await standIn.start()
  standIn.accounts.add('ada@shop.example', PASSWORD, 'Ada', undefined, 'operator')
  standIn.accounts.add('lee@shop.example', PASSWORD, 'Lee')
  const operator = await Operator.open(browser, base, look)
  await pages(report, operator, standIn)
  if (look.size !== 'desktop') return
  await acts(report, operator, standIn)
  await report.check('console: a shopper may not use it', async () => {
    await operator.logIn('lee@shop.example')
    await soon(operator.page.getByRole('heading', { name: 'Lee may not work here' }))
    await operator.looks('shopper')
  })
}

/** An operator at the console. */
export class Operator {
  static async open(browser, base, look = {}) {
    const operator = new Operator()
    const { size = 'desktop', theme = 'light' } = look
    Object.assign(operator, { browser, base, name: `console-${size}-${theme}` })
    operator.page = await browser.open(`${base}/console`, look)
    return operator
  }

  async logIn(email, password = PASSWORD) {
    await this.page.locator('[name=email]').fill(email)
    await this.page.locator('[name=password]').fill(password)
    await this.page.keyboard.press('Enter')
  }

  async goTo(path, sight) {
    await this.page.locator(`nav a[href="/console${path}"]`).click()
    await soon(this.page.locator(sight).first())
  }

  /** Confirms the dialog, and waits for the outcome. */
  async confirm() {
    const dialog = this.page.getByRole('dialog')
    await dialog.locator('[type=submit]').click()
    await soon(dialog, 'hidden')
    await soon(this.page.locator('.outcome p'))
  }

  shoot(what, options) {
    return this.browser.shoot(this.page, `${this.name}-${what}`, options)
  }

  looks(what, options) {
    return this.browser.looks(this.page, `${this.name}-${what}`, options)
  }
}

/** Every page is reached by a link, accessible, and fits. */
async function pages(report, operator, standIn) {
  const { page } = operator
  await report.check(`${operator.name}: logs in with the keyboard, and sees the board move`, async () => {
    await soon(page.locator('[name=email]'))
    await operator.looks('login')
    await operator.logIn('ada@shop.example')
    await soon(page.locator('.score'))
    await soon(page.locator('canvas').first())
    standIn.operator.alarms = [
      {
        name: 'nothing_moving',
        since: Date.now() - 14_000,
        says: 'Buys come in or wait for their rows, and for 10 s none was confirmed.',
        do: 'Look whether workers run.',
        link: 'deploy/RUNBOOK.md#nothing-is-moving',
      },
    ]
    await soon(page.locator('[role=alert] .says'))
    await operator.looks('board')
    standIn.operator.alarms = []
    await soon(page.locator('[role=alert] .says'), 'hidden')
  })
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
    await page.reload() // a deep link, and a login that survives it
    await soon(page.locator('[name=head]'))
  })
  await report.check(`${operator.name}: the page of a sale is accessible and fits`, async () => {
    await operator.goTo('', '.score')
    await page.locator('td.name a').first().click()
    await soon(page.locator('#acts'))
    await operator.looks('sale')
    expectNoProblems(page)
  })
}

/** Operations are confirmed, done once, recorded and undone. `catalogue` covers the end of a sale and a broadcast. */
async function acts(report, operator, standIn) {
  const { page } = operator
  const { journal } = standIn.operator
  const press = (name) => page.locator('.panel').getByRole('button', { name, exact: true }).click()
  const last = () => journal.at(-1)
  const expectLast = (kind, rows) => {
    if (last()?.kind !== kind || journal.length !== rows)
      throw new Error(`the journal has ${journal.length} rows, the last is ${JSON.stringify(last())}`)
  }

  await report.check('console: stock is added once although the answers are lost', async () => {
    standIn.operator.lostAnswers = 2
    await press('Add stock')
    await page.locator('[name=note]').fill('more came in')
    await operator.shoot('add')
    await operator.confirm()
    expectLast('sale.stock', 1)
    if (last().after.added !== 100 || last().note !== 'more came in') throw new Error(JSON.stringify(last()))
  })
  await report.check('console: a sale is paused, and the pause undone', async () => {
    await press('Pause')
    await operator.confirm()
    await soon(page.locator('.panel').getByRole('button', { name: 'Resume', exact: true }))
    await page.locator('.outcome').getByRole('button', { name: 'Undo' }).click()
    await soon(page.locator('.panel').getByRole('button', { name: 'Pause', exact: true }))
    expectLast('sale.pause.undo', 3)
  })
  await report.check(
    'console: an operation on a sale that was changed meanwhile shows its current state',
    async () => {
      await press('Pause')
      const sale = standIn.shop.sales.get(page.url().split('/').at(-1))
      const other = { actor: 'Bob', key: 'bob-was-first', body: { version: last().seq + 1 } }
      standIn.operator.answer('POST', `/sales/${sale.id}/pause`, other)
      await page.getByRole('dialog').locator('[type=submit]').click()
      await soon(page.getByRole('dialog').getByText('Somebody else has changed it'))
      expectLast('sale.pause', 4)
      await page.keyboard.press('Escape')
      await soon(page.getByRole('dialog'), 'hidden')
    },
  )
  await report.check('console: a switch is changed, and a user blocked', async () => {
    const rows = journal.length
    await operator.goTo('/broadcast', '.el-switch')
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
    await soon(page.getByRole('cell', { name: '7301444403200000101', exact: true }))
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
    await soon(page.locator('tbody tr'), 'hidden')
    expectLast('refund.approve', rows + 1)
  })
  await report.check('console: the journal contains all operations, and is verified', async () => {
    await operator.goTo('/journal', '.open')
    await press('Verify')
    await soon(page.locator('.good'))
    await page.locator('.open').filter({ hasText: 'Stock changed' }).click()
    await soon(page.locator('.changes'))
    await operator.looks('journal-open')
    await page.getByRole('button', { name: 'Log out' }).click()
    await soon(page.locator('[name=email]'))
  })
}
