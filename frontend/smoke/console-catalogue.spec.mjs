import { Buffer } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { expectNoProblems, reviewPage, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'
import { Operator } from './console.mjs'

const EMAIL = 'mei@shop.example'
const PASSWORD = 'a sentence that nobody guesses'
const NAME = 'Morning Kettle'
const ZONE = 'Asia/Shanghai' // the default time zone of a shop
/** The initial opening of the sale; a later step moves it to the present. */
const OPENS_IN_MS = 600_000

/**
 * An operator creates a sale in an empty shop and manages it until its end. Invalid input is tested, too. Every page is
 * checked in one theme.
 */
test('catalogue', async ({ open, shop }) => {
  await shop.run(['user', 'add', EMAIL, '--role', 'operator', '--name', 'Mei', '--password'], `${PASSWORD}\n`)
  await new CatalogueTest(open, shop).work()
})

class CatalogueTest {
  constructor(open, shop) {
    Object.assign(this, { open, shop })
  }

  /** Each step depends on the steps before it. */
  async work() {
    this.operator = await Operator.open(this.open, this.shop.base)
    this.page = this.operator.page
    for (const [what, step] of [
      ['an operator creates categories in an empty shop', () => this.categories()],
      [
        'the operator creates a product with pictures, and a rejected picture shows the reason',
        () => this.product(),
      ],
      [
        'a concurrent edit of a product is shown, and the edits of both operators are kept',
        () => this.conflict(),
      ],
      ['the operator creates a slot, and then slots from a template after a preview', () => this.slots()],
      [
        'a new sale preselects an upcoming slot and has no units, and a low price must be typed',
        () => this.newSale(),
      ],
      ['the operator creates a sale, and its checklist is shown', () => this.sale()],
      ['the operator copies a sale and edits the copy', () => this.copies()],
      ['the sale opens, and a shopper sees its picture and buys', () => this.opening()],
      [
        'the operator pauses the sale, adds stock, publishes a banner, ends the sale and opens its report',
        () => this.operations(),
      ],
      ['the operator archives the copy', () => this.archives()],
      ['the catalogue is exported as a table and imported again', () => this.tables()],
      ['the browser reports no errors', () => expectNoProblems(this.page)],
    ]) {
      await test.step(what, step)
    }
  }

  async checkPage(what, theme) {
    await this.page.emulateMedia({ colorScheme: theme })
    await reviewPage(this.page, `catalogue-${what}-${theme}`, { fullPage: true })
  }

  button(name) {
    return this.page.getByRole('button', { name, exact: true })
  }

  async expectOutcome(text) {
    await soon(this.page.locator('.outcome p').filter({ hasText: text }))
  }

  /** Removes the browser's message about an expected rejection. */
  wasRefused(status) {
    const { problems } = this.page
    const at = problems.findIndex((text) => text.includes(`status of ${status} `))
    if (at < 0) throw new Error(`no request was rejected with ${status}`)
    problems.splice(at, 1)
  }

  /** Chooses an option with the keyboard. */
  async choose(label, text) {
    const { page } = this
    await page.getByRole('combobox', { name: label, exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: text }).first().click()
  }

  async categories() {
    const { page } = this
    await soon(page.locator('[name=email]'))
    await this.operator.logIn(EMAIL, PASSWORD)
    await this.operator.goTo('/sales', '.empty')
    await this.operator.goTo('/categories', '[name=category]')
    for (const name of ['Kitchen', 'Light']) {
      await page.locator('[name=category]').fill(name)
      await page.keyboard.press('Enter')
      await this.expectOutcome(`Category ${name} is created`)
    }
    await page.getByRole('button', { name: 'Move Light up' }).click()
    await soon(page.locator('tbody tr').first().filter({ hasText: 'Light' }))
    await this.checkPage('categories', 'light')
  }

  async product() {
    const { page } = this
    await this.operator.goTo('/products', '.empty')
    await page.locator('header').getByRole('button', { name: 'New product' }).click()
    await page.locator('[name=name]').fill(NAME)
    await this.choose('Category', 'Kitchen')
    await page.locator('[name=list_price]').fill('459')
    await page.locator('[name=description]').fill('<p>Hot in <b>90</b> seconds.</p><script>steal()</script>')
    await page.locator('[name=description]').evaluate((area) => area.setSelectionRange(3, 6))
    await this.button('Bold').click()
    await soon(page.locator('.markup strong').filter({ hasText: 'Hot' }))
    if ((await page.locator('.markup').innerText()).includes('steal')) throw new Error('a script is shown')
    await page.locator('[name=pictures]').setInputFiles([
      { name: 'white-kettle.jpg', mimeType: 'image/jpeg', buffer: await this.picture('kettle') },
      { name: 'lies.png', mimeType: 'image/png', buffer: Buffer.from('<svg onload="steal()"/>') },
      { name: 'kettle-by-lamp.jpg', mimeType: 'image/jpeg', buffer: await this.picture('lamp') },
    ])
    await soon(page.locator('p.problem').filter({ hasText: 'lies.png: The server rejected this input.' }))
    await soon(page.locator('.pictures li').nth(1))
    this.wasRefused(400)
    await page.getByRole('textbox', { name: 'Description of picture 2' }).fill('A lamp')
    await this.button('Move picture 2 up').click()
    await this.button('Move picture 2 up').focus()
    await page.keyboard.press('Enter')
    await this.checkPage('product-new', 'light')
    await page.getByRole('button', { name: 'Create product' }).click()
    await this.expectOutcome(`${NAME} is created`)
    await page.waitForURL(/products\/\d+$/)
    this.id = page.url().split('/').at(-1)
    if (
      (await page.locator('[name=description]').inputValue()) !== '<p><strong>Hot</strong> in 90 seconds.</p>'
    )
      throw new Error(await page.locator('[name=description]').inputValue())
  }

  /** A JPEG of a product picture of the page. */
  async picture(name) {
    const blankPage = await this.page.context().newPage()
    await blankPage.setViewportSize({ width: 800, height: 800 })
    await blankPage.goto(`${this.shop.base}/products/${name}.svg`)
    const file = await blankPage.screenshot({ type: 'jpeg' })
    await blankPage.close()
    return file
  }

  async conflict() {
    const { page } = this
    await page.locator('[name=rules]').fill('Can be returned within a week.')
    await this.shop.run(['product', 'edit', this.id, '--list-price', '499'])
    await this.button('Save').click()
    await soon(page.locator('.theirs').filter({ hasText: '¥499' }))
    this.wasRefused(409)
    await this.checkPage('product-theirs', 'dark')
    await page.locator('[name=note]').fill('The lawyer wants it.')
    await this.button('Save').click()
    await this.expectOutcome(`${NAME} is saved`)
    const values = [
      await page.locator('[name=list_price]').inputValue(),
      await page.locator('[name=rules]').inputValue(),
    ]
    if (values.join() !== '499.00,Can be returned within a week.') throw new Error(values.join())
    const [last] = JSON.parse(await this.shop.run(['journal', 'list', '--json', '--limit', '1']))
    if (last.note !== 'The lawyer wants it.') throw new Error(`the note in the journal: ${last.note}`)
    await this.button('Archive').click()
    await this.expectOutcome('is archived')
    await this.button('Restore').click()
    await this.expectOutcome('is restored')
    await this.operator.goTo('/products', 'tbody tr')
    await this.checkPage('products', 'dark')
  }

  async slots() {
    const { page } = this
    const now = Date.now()
    await this.operator.goTo('/slots', '[name=day]')
    await this.button('New slot').click()
    await page.locator('[name=slot-day]').fill(localTime(now).day)
    await page.locator('[name=slot-opens]').fill(localTime(now).time.slice(0, 5))
    await page.locator('[name=slot-closes]').fill(localTime(now + 2 * 3_600_000).time.slice(0, 5))
    await page.keyboard.press('Enter')
    await this.expectOutcome('The slot')
    await this.button('New slot').click()
    await this.button('Daily template').click()
    const tomorrow = localTime(now + 26 * 3_600_000).day // no slot of today reaches into this day
    await page.locator('[name=from]').fill(tomorrow)
    await page.locator('[name=to]').fill(tomorrow)
    await page.getByRole('textbox', { name: 'Closes 1', exact: true }).fill('10:30')
    await this.button('Preview').click()
    await soon(page.locator('.plan .bad').first()) // two slots overlap, so none would be created
    await page.getByRole('textbox', { name: 'Closes 1', exact: true }).fill('10:00')
    await this.button('Preview').click()
    await soon(this.button('Create 8 slots'))
    await this.checkPage('template', 'light')
    await this.button('Create 8 slots').click()
    await this.expectOutcome('8 slots are created')
    await this.button('Daily template').click()
    await page.locator('[name=day]').fill(tomorrow)
    await page.getByRole('navigation', { name: 'Time span' }).getByRole('link', { name: 'Week' }).click()
    await page.getByRole('button', { name: `${tomorrow} 22:00` }).click()
    await this.button('Remove slot').click()
    await this.button('Yes, remove it').click()
    await this.expectOutcome('is removed')
    await page.getByRole('button', { name: `${tomorrow} 20:00` }).click()
    await this.checkPage('week', 'light')
    this.tomorrow = tomorrow
  }

  /** Reviews a sale without creating it. */
  async newSale() {
    const { page } = this
    const dialog = page.getByRole('dialog')
    const submit = dialog.locator('[type=submit]')
    const want = async (holds, text) => {
      if (!(await holds)) throw new Error(text)
    }
    await this.operator.goTo('/sales', '.empty')
    await page.locator('header').getByRole('button', { name: 'New sale' }).click()
    await this.choose('Product', NAME)
    await soon(page.locator('form .el-select').filter({ hasText: `${this.tomorrow} 08:00` }))
    await page.locator('[name=price]').fill('199.59') // 199.60 is 60 % below ¥499
    const review = this.button('Review')
    await want(
      page
        .locator('[name=stock]')
        .inputValue()
        .then((value) => value === ''),
      'units are prefilled',
    )
    await want(review.isDisabled(), 'a sale without units can be reviewed')
    await page.locator('[name=stock]').fill('0')
    await want(review.isDisabled(), 'a sale of 0 units can be reviewed')
    await page.locator('[name=stock]').fill('2')
    await page.locator('[name=limit]').fill('3')
    await review.click()
    await soon(dialog.getByText('more than 60 % below the list price ¥499'))
    await soon(dialog.getByText('The limit per buyer (3) is above the number of units (2).'))
    await want(dialog.getByText('opens at once').isHidden(), 'an upcoming sale opens at once')
    await want(submit.isDisabled(), 'the price is not typed, and the sale can be created')
    await dialog.locator('[name=typed]').fill('199')
    await want(submit.isDisabled(), 'another price is typed, and the sale can be created')
    await dialog.locator('[name=typed]').fill('199.59')
    await want(submit.isEnabled(), 'the price is typed, and the sale cannot be created')
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await page.locator('[name=price]').fill('199.60')
    await review.click()
    await soon(dialog.getByText('¥199.60'))
    await want(
      dialog.locator('[name=typed]').isHidden(),
      'a price of 60 % below the list price must be typed',
    )
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
  }

  async sale() {
    const { page } = this
    await this.operator.goTo('/slots', '[name=day]')
    await this.button('Today').click()
    await page.locator('button.slot.open').first().click()
    await this.checkPage('slot', 'dark')
    await page.locator('.slot-panel').getByRole('button', { name: 'New sale' }).click()
    await this.choose('Product', NAME)
    await page.locator('[name=price]').fill('129')
    await page.locator('[name=stock]').fill('40')
    await this.button('Review').click()
    await soon(page.getByRole('dialog').getByText('the sale opens at once'))
    await this.checkPage('sale-dialog', 'light')
    await page.keyboard.press('Escape')
    await soon(page.getByRole('dialog'), 'hidden')
    await page.locator('[name=opens]').fill(field(Date.now() + OPENS_IN_MS))
    await this.checkPage('sale-new', 'dark')
    await this.button('Review').click()
    await soon(page.getByRole('dialog').getByText('¥129', { exact: true }))
    await page.locator('[name=typed]').fill('129')
    await this.operator.confirm()
    await page.waitForURL(/sales\/\d+\/terms$/)
    this.sold = page.url().split('/').at(-2)
    await soon(page.locator('.verdict'))
    await soon(page.locator('li.warn').filter({ hasText: 'E-mail' }))
    await this.checkPage('terms', 'light')
  }

  async copies() {
    const { page } = this
    await this.button('Copy to another slot').click()
    await this.choose('Slot', `${this.tomorrow} 10:00`)
    await page.locator('.copy [name=price]').fill('99')
    await this.button('Review').click()
    await soon(page.getByRole('dialog').getByText('¥99', { exact: true }))
    await page.locator('[name=typed]').fill('99')
    await this.operator.confirm()
    await page.waitForURL((url) => !url.pathname.includes(this.sold))
    await soon(page.locator('.verdict'))
    await page.locator('[name=limit]').fill('3')
    await this.button('Review changes').click()
    await this.operator.confirm()
    await this.expectOutcome('is saved')
    this.copy = page.url().split('/').at(-2)
    await this.operator.goTo('/sales', 'tbody tr')
    await this.checkPage('sales', 'dark')
  }

  async archives() {
    const { page } = this
    await this.operator.goTo('/sales', 'tbody tr')
    await page.locator(`a[href$="/sales/${this.copy}/terms"]`).click()
    await this.button('Archive').click()
    await this.expectOutcome('is archived')
    await this.operator.goTo('/sales', 'tbody tr')
    if ((await page.locator('tbody tr').count()) !== 1) throw new Error('the archived copy is listed')
  }

  async opening() {
    const { page } = this
    await page.locator(`a[href$="/sales/${this.sold}/terms"]`).click()
    await page.locator('[name=opens]').fill(field(Date.now()))
    await this.button('Review changes').click()
    await this.operator.confirm()
    await this.expectOutcome('is saved')
    await this.button('Manage the sale').click()
    await soon(page.locator('#acts'))
    await soon(page.locator('header .chip.good').filter({ hasText: 'Open' }))
    this.shopper = await this.open(this.shop.base, { size: 'phone' })
    const card = this.shopper.locator('[data-sale]').filter({ hasText: NAME })
    await soon(card.locator('[data-action="buy"]'))
    const picture = card.locator('img').first()
    await picture.evaluate((image) => image.decode()) // fails if the response is not a picture
    const chosen = await picture.evaluate((image) => image.currentSrc)
    if (!/\/images\/[0-9a-f]{64}/.test(chosen)) throw new Error(`the picture is ${chosen}`)
    await card.locator('[data-action="buy"]').click()
    await soon(card.locator('[data-action="buy"]'), 'hidden')
    await takeShot(this.shopper, 'catalogue-shopper')
    await soon(page.locator('.numbers dd').nth(1).filter({ hasText: '1' })) // held
  }

  async operations() {
    const { page, shopper } = this
    const operate = async (name) => {
      await page.locator('.panel').getByRole('button', { name, exact: true }).click()
      if (name === 'End early') {
        if (await page.getByRole('dialog').locator('[type=submit]').isEnabled())
          throw new Error('End early is enabled without the typed name')
        await page.locator('[name=typed]').fill(NAME)
      }
      if (name === 'Add stock') {
        const submit = page.getByRole('dialog').locator('[type=submit]')
        if (await submit.isEnabled()) throw new Error('Add stock is enabled without a number')
        await page.locator('[name=units]').fill('0')
        if (await submit.isEnabled()) throw new Error('Add stock is enabled for 0 units')
        await page.locator('[name=units]').fill('100')
      }
      await this.operator.confirm()
    }
    for (const name of ['Pause', 'Resume', 'Add stock']) await operate(name)
    await soon(page.locator('.balance').filter({ hasText: 'Added 100' }))
    await this.operator.goTo('/broadcast', '[name=text]')
    await page.locator('[name=text]').fill('A hundred kettles more.')
    await page.locator('.panel').getByRole('button', { name: 'Publish' }).click()
    await this.operator.confirm()
    await soon(shopper.locator('.message').filter({ hasText: 'A hundred kettles more.' }))
    await page.locator('.panel').getByRole('button', { name: 'Remove' }).click()
    await this.operator.confirm()
    await soon(shopper.locator('.message'), 'hidden')
    await page.goto(`${this.shop.base}/console/sales/${this.sold}`)
    await soon(page.locator('#acts'))
    await operate('End early')
    await soon(page.getByText('This sale is over.'))
    await page.locator(`a[href$="/reports/${this.sold}"]`).click()
    await soon(page.locator('h1').filter({ hasText: NAME }))
    await this.checkPage('report', 'dark')
  }

  async tables() {
    const { page } = this
    await this.operator.goTo('/tables', '[name=import-products]')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      this.button('Download products.csv').click(),
    ])
    const table = (await readFile(await download.path(), 'utf8')).trim()
    if (!table.includes(`${NAME},Kitchen,499`)) throw new Error(table)
    const send = (text) =>
      page.locator('[name=import-products]').setInputFiles({
        name: 'products.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(text),
      })
    const line = (price) => `,,Evening Lamp,Light,${price},no,,,,no`
    await send(`${table}\n${line('cheap')}\n`)
    await soon(page.locator('td.bad').filter({ hasText: 'must be an amount in yuan' }))
    await this.checkPage('tables', 'dark')
    await send(`${table}\n${line('89.50')}\n`)
    await this.button('Import: create 1').click()
    await this.expectOutcome('1 created, 0 changed')
    await this.operator.goTo('/products', 'tbody tr')
    await soon(page.locator('tbody tr').filter({ hasText: '¥89.50' }))
  }
}

/** The local date and time of the shop. */
function localTime(at) {
  const [day, time] = new Date(at).toLocaleString('sv-SE', { timeZone: ZONE }).split(' ')
  return { day, time }
}

/** The local date and time of the shop, as the value of an input field. */
function field(at) {
  const { day, time } = localTime(at)
  return `${day}T${time}`
}
