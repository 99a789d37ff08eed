import { ADDRESS, expectNoProblems, live, reviewPage, soon, takeShot } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'

const looks = [desktopLight, { ...phoneDark, lang: 'zh' }]

/** A sale of each phase, by phase. */
async function salesOf(base) {
  const read = async (path) => (await fetch(`${base}/api/v1${path}`)).json()
  const { slots } = await read('/slots')
  const sales = {}
  for (const phase of ['upcoming', 'open', 'closed']) {
    const slot = slots.filter((one) => one.phase === phase).at(phase === 'closed' ? -1 : 0)
    const found = await read(`/slots/${slot.id}/sales`)
    sales[phase] = found.sales.filter(({ stock, challenge }) => stock > 0 && challenge === 'none').at(-1)
  }
  return sales
}

const pathOf = (page) => new URL(page.url()).pathname

async function expectPath(page, path) {
  await page.waitForURL((url) => url.pathname === path)
}

for (const look of looks)
  test(`links, ${look.size}`, async ({ open, quiet: base }) => {
    const sales = await salesOf(base)
    const page = await open(`${base}/sale/${sales.open.id}`, look)
    const details = page.locator('[data-details]')
    const shoot = (name) => reviewPage(page, `links-${look.size}-${name}`)

    await test.step('a link to an open sale shows its name, price and Buy', async () => {
      await soon(details.locator('[data-action="buy"][aria-disabled="false"]'))
      await page.waitForFunction(
        (name) => document.title.includes(name),
        await details.locator('h2').innerText(),
      )
      await shoot('open')
    })
    await test.step('a link to an upcoming sale counts down and offers a reminder', async () => {
      await page.goto(`${base}/sale/${sales.upcoming.id}`)
      await soon(details.and(page.locator('[data-phase="upcoming"]')))
      await soon(details.locator('[data-step="upcoming"]'))
      const calendar = await page.request.get(
        new URL(await details.locator('.remind').getAttribute('href'), base).href,
      )
      const text = await calendar.text()
      const start = new Date(sales.upcoming.opens_at).toISOString().replace(/[-:]|\.\d+/g, '')
      if (!text.includes(`DTSTART:${start}`))
        throw new Error(`the calendar file has no start ${start}: ${text}`)
      await shoot('upcoming')
    })
    await test.step('a link to a closed sale shows other sales', async () => {
      await page.goto(`${base}/sale/${sales.closed.id}`)
      await soon(details.locator('[data-step="closed"]'))
      await soon(page.locator('.others a').first())
      await shoot('closed')
    })
    await test.step('a link to an unknown sale or path shows that it does not exist, and leads to the shop', async () => {
      for (const path of ['/sale/1', '/nothing/here']) {
        const response = await page.goto(base + path)
        if (response.status() !== 404) throw new Error(`${path}: status ${response.status()}`)
        await soon(page.locator('[data-missing]'))
      }
      await shoot('missing')
      await page.locator('[data-missing] a').click()
      await expectPath(page, '/')
      await soon(page.locator('[data-sale]').first())
    })
    await test.step('a link to an order of another shopper shows nothing of it', async () => {
      await page.goto(`${base}/order/42`)
      await soon(page.locator('[data-missing]'))
    })
    await test.step('a preview of a shared link shows name, price and picture', async () => {
      const language = look.lang === 'zh' ? 'zh-CN' : 'en'
      const html = await (
        await page.request.get(`${base}/sale/${sales.open.id}`, { headers: { 'Accept-Language': language } })
      ).text()
      for (const part of ['og:title', 'og:image', '¥', `lang="${language}"`])
        if (!html.includes(part)) throw new Error(`no ${part} in ${html}`)
    })
    await test.step('reports no errors', () => {
      page.problems = page.problems.filter((text) => !/status of 404/.test(text))
      expectNoProblems(page)
    })
  })

test('a link to a sold out sale shows other sales', async ({ open, quiet: base }) => {
  const { open: sale } = await salesOf(base)
  const page = await open('about:blank', { ...phoneDark, relayed: true })
  const soldOut = (one) => (one.id === sale.id ? { ...one, stock: 0, sold: 100 } : one)
  page.relay.edit((frame) => {
    if (frame.ok?.sales) return { ...frame, ok: { ...frame.ok, sales: frame.ok.sales.map(soldOut) } }
    return frame.ev === 'tick' ? { ...frame, sales: frame.sales.map(soldOut) } : frame
  })
  await page.goto(`${base}/sale/${sale.id}`)
  await soon(page.locator('[data-details] [data-step="sold_out"]'))
  await page.locator('.others a').first().click()
  await soon(page.locator('[data-details] [data-step="ready"]'))
})

test('three taps lead from a shared link to a paid order', async ({ open, quiet: base }) => {
  const { open: sale } = await salesOf(base)
  const page = await open(`${base}/sale/${sale.id}`, { ...phoneDark, address: ADDRESS })
  const action = page.locator('[data-details] [data-action]')
  await action.and(page.locator('[data-action="buy"][aria-disabled="false"]')).tap()
  await action.and(page.locator('[data-action="pay"][aria-disabled="false"]')).tap()
  await page.waitForURL(/\/cashier\//)
  await page.getByRole('button', { name: 'Pay', exact: true }).tap()
  await page.waitForURL(/\/order\/\d+$/)
  await soon(page.locator('main [data-order][data-state="paid"]'))
  await soon(page.locator('[data-step="paid"]'))
  await takeShot(page, 'links-paid')
})

for (const look of looks)
  test(`back, ${look.size}`, async ({ open, quiet: base }) => {
    const page = await open(base, look)
    const dialog = page.locator('dialog[open]')
    const { open: sale } = await salesOf(base)
    const back = async (path) => {
      await page.goBack()
      await expectPath(page, path)
      await soon(dialog, 'hidden')
    }
    await soon(page.locator('[data-sale]').first())
    await page.evaluate(() => scrollTo(0, 300))

    await test.step('Back closes each sheet, and the page below stays', async () => {
      await page.locator(`[data-sale="${sale.id}"] h3 a`).click()
      await expectPath(page, `/sale/${sale.id}`)
      await page.locator('.account').click()
      await soon(dialog.locator('[name=email]'))
      await dialog.locator('.button-link').last().click()
      await soon(dialog.locator('[name=name]'))
      await back(`/sale/${sale.id}`)
      await page.locator('.sale-address button').click()
      await soon(dialog.locator('[name=text]'))
      await back(`/sale/${sale.id}`)
    })
    await test.step('Back works at every step of a purchase', async () => {
      await page.locator('[data-details] [data-action="buy"][aria-disabled="false"]').click()
      const pay = page.locator('[data-details] [data-action="pay"][aria-disabled="false"]')
      await pay.click()
      await soon(dialog.locator('[name=text]'))
      await back(`/sale/${sale.id}`)
      const [fields, texts] = [['name', 'phone', 'text'], Object.values(ADDRESS)]
      await pay.click()
      for (const [i, field] of fields.entries()) await dialog.locator(`[name=${field}]`).fill(texts[i])
      await dialog.locator('[type=submit]').click()
      if (look.size === 'phone') {
        await page.waitForURL(/\/cashier\//)
        await back(`/sale/${sale.id}`)
      } else {
        await soon(dialog.getByRole('img'))
        await back(`/sale/${sale.id}`)
      }
      await soon(pay)
    })
    await test.step('Back leads from the order to the list and to the sale', async () => {
      if (look.size === 'phone') await page.locator('.bag').click()
      const order = page.locator('[data-order]').filter({ visible: true }).first()
      await order.locator('h3 a').click()
      await soon(page.locator('[data-order-page] [data-step]').first())
      if (look.size === 'phone') await back('/orders')
      await back(`/sale/${sale.id}`)
    })
    await test.step('Back leads to the slots, at the earlier position', async () => {
      await back('/')
      await soon(page.locator('[data-sale]').first())
      await page.waitForFunction(() => scrollY > 0)
    })
    await test.step('an order is shown after a reload', async () => {
      await page.goto(`${base}/orders`)
      await page.locator('main [data-order] h3 a').first().click()
      await soon(page.locator('[data-order-page] [data-step]').first())
      await page.reload()
      await soon(page.locator('[data-order-page] [data-step]').first())
    })
    await test.step('a sheet of a link closes to its page', async () => {
      await page.goto(`${base}/account/register`)
      await soon(dialog.locator('[name=email]'))
      await page.keyboard.press('Escape')
      await expectPath(page, '/')
    })
  })

test('a purchase works with the keyboard alone', async ({ open, quiet: base }) => {
  const { open: sale } = await salesOf(base)
  const page = await open(base, { ...desktopLight, address: ADDRESS })
  await live(page)
  const tabTo = async (target, where = page) => {
    for (let presses = 0; presses < 80; presses++) {
      if (await target.evaluate((element) => element === document.activeElement)) return
      await where.keyboard.press('Tab')
    }
    throw new Error(`${target} did not get the focus`)
  }
  await test.step('to the sale page', async () => {
    await tabTo(page.locator(`[data-sale="${sale.id}"] h3 a`))
    await page.keyboard.press('Enter')
    await expectPath(page, `/sale/${sale.id}`)
  })
  await test.step('Buy and Pay', async () => {
    const action = page.locator('[data-details] [data-action]')
    await soon(action.and(page.locator('[data-action="buy"][aria-disabled="false"]')))
    await tabTo(action)
    await page.keyboard.press('Enter')
    await soon(action.and(page.locator('[data-action="pay"][aria-disabled="false"]')))
    await page.keyboard.press('Enter') // the focus stays at the button
    const here = page.getByRole('button', { name: 'Pay in this browser' })
    await soon(here)
    await tabTo(here)
    const [cashier] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('Enter')])
    const pay = cashier.getByRole('button', { name: 'Pay', exact: true })
    await soon(pay)
    await tabTo(pay, cashier)
    await cashier.keyboard.press('Enter')
    await soon(page.locator('[data-details] [data-step="paid"]'))
  })
})

for (const look of looks)
  test(`selection, ${look.size}`, async ({ open, quiet: base }) => {
    const page = await open(base, look)
    const cards = page.locator('[data-sale]')
    await soon(cards.first())
    const names = await cards.locator('h3').allInnerTexts()
    const all = names.length
    await page.locator('.selection .button-icon').click()
    const [day, search] = [page.locator('.filter [type=date]'), page.locator('.filter [type=search]')]
    const [category, sort] = [page.locator('.filter select').first(), page.locator('.filter select').last()]

    await test.step('a search and a category show the matching sales, also after a reload', async () => {
      await search.fill(names[2].slice(0, 4))
      await page.waitForFunction((n) => document.querySelectorAll('[data-sale]').length < n, all)
      await page.reload()
      await soon(cards.first())
      if ((await cards.locator('h3').first().innerText()) !== names[2])
        throw new Error('another sale is first')
      await search.fill('')
      await category.selectOption({ index: 1 })
      await page.waitForFunction((n) => document.querySelectorAll('[data-sale]').length < n, all)
      await reviewPage(page, `selection-${look.size}`)
      await search.fill('no such product')
      await page.locator('main .button-link').click()
      await page.waitForFunction((n) => document.querySelectorAll('[data-sale]').length === n, all)
    })
    await test.step('the sales are sorted by price', async () => {
      await sort.selectOption('price')
      await page.waitForURL(/sort=price/)
      const prices = await cards.locator('.price b').allInnerTexts()
      const fen = prices.map((text) => Number(text.replace(/[^\d.]/g, '')))
      if (fen.some((price, i) => i > 0 && price < fen[i - 1])) throw new Error(`the prices are ${fen}`)
    })
    await test.step('the slots of another day are shown, and a day without slots', async () => {
      await day.fill('2020-01-01')
      await day.blur()
      await page.waitForURL(/day=2020-01-01/)
      await soon(cards.first(), 'detached')
      await day.fill('')
      await day.blur()
      await soon(cards.first())
    })
    await test.step('reports no errors', () => expectNoProblems(page))
    if (pathOf(page) !== '/') throw new Error(`the path is ${pathOf(page)}`)
  })
