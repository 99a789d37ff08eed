import { buy, expectNoProblems, live, reviewPage, soon, toShop, until } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'
import { Operator } from './console.mjs'

const EMAIL = 'names@shop.example'
const PASSWORD = 'a sentence that nobody guesses'
const CHINESE = /\p{Script=Han}/u

/** Throws unless all texts are in the language. */
function expectLang(lang, what, texts) {
  const wrong = texts.filter((text) => CHINESE.test(text) !== (lang === 'zh'))
  if (texts.length === 0 || wrong.length > 0)
    throw new Error(`${what}, ${lang}: ${wrong.join(' | ') || 'none'}`)
}

/** Products, categories, orders and the guest have names in the language of the page; a switch changes all at once. */
for (const look of [desktopLight, phoneDark])
  test(`names, ${look.size}`, async ({ open, busy: base }) => {
    const page = await open(base, { ...look, lang: 'zh' })
    const cards = page.locator('[data-sale]')
    const sheet = page.locator('[data-details]')
    const orders = look.size === 'phone' ? page.locator('main') : page.locator('.rail')

    const expectCards = async (lang) => {
      expectLang(lang, 'product', await cards.locator('h3').allInnerTexts())
      expectLang(lang, 'category', await cards.locator('.category').allInnerTexts())
      const buttons = await cards.locator('[data-action="buy"] .visually-hidden').allTextContents()
      expectLang(lang, 'button', buttons)
    }
    /** The name of the product, and of the guest. */
    const expectOrders = async (lang) => {
      await soon(orders.locator('[data-order]').first())
      expectLang(lang, 'order', await orders.locator('[data-order] h3').allInnerTexts())
      await soon(orders.getByText(lang === 'zh' ? /^你是 游客 \d+$/ : /^You are Guest \d+$/))
    }
    const expectDetails = async (lang) => {
      await cards.first().locator('h3 a').click()
      await soon(sheet.locator('.markup'))
      for (const part of ['h2', '.category', '.markup', '.rules'])
        expectLang(lang, part, await sheet.locator(part).allInnerTexts())
      await reviewPage(page, `names-details-${look.size}-${lang}`)
      await toShop(page)
    }

    await test.step('cards and details are Chinese on a Chinese page', async () => {
      await live(page)
      await soon(cards.first())
      await expectCards('zh')
      await reviewPage(page, `names-${look.size}-zh`, { fullPage: true })
      await expectDetails('zh')
    })
    await test.step('order and guest have Chinese names, and a switch to English changes all', async () => {
      await buy(page)
      if (look.size === 'phone') {
        const bar = page.locator('.bar.floating .name')
        await soon(bar)
        expectLang('zh', 'bar', await bar.allInnerTexts())
        await page.locator('.bar.floating').click()
      }
      await expectOrders('zh')
      await reviewPage(page, `names-orders-${look.size}-zh`)
      // On a phone, the button is in a sheet.
      await page.locator('header .lang').dispatchEvent('click')
      await soon(page.locator('html[lang=en]'))
      await expectOrders('en')
      await reviewPage(page, `names-orders-${look.size}-en`)
      if (look.size === 'phone') await toShop(page)
      await expectCards('en')
      await expectDetails('en')
    })
    await page.context().close()
  })

/** An operator edits the Chinese names in the console, and the page shows them. The shop is empty at first. */
test('names, console', async ({ open, shop }) => {
  await shop.run(['user', 'add', EMAIL, '--role', 'operator', '--password'], `${PASSWORD}\n`)
  const operator = await Operator.open(open, shop.base)
  const { page } = operator
  const button = (name) => page.getByRole('button', { name, exact: true })
  const outcome = (text) => soon(page.locator('.outcome p').filter({ hasText: text }))
  const savedAs = async (names) => {
    const values = await Promise.all(names.map((name) => page.locator(`[name=${name}]`).inputValue()))
    return values.join('|')
  }
  let id

  await test.step('a category has a name in Chinese', async () => {
    await soon(page.locator('[name=email]'))
    await operator.logIn(EMAIL, PASSWORD)
    await operator.goTo('/categories', '[name=category]')
    await page.locator('[name=category]').fill('Kitchen')
    await page.keyboard.press('Enter')
    await outcome('Category Kitchen is created')
    await page.getByRole('button', { name: 'Rename: Kitchen' }).click()
    await page.locator('[name=rename-zh]').fill('厨房')
    await operator.checkPage('names-category', { fullPage: true })
    await page.keyboard.press('Enter')
    await outcome('Kitchen is saved')
    await soon(page.locator('tbody tr').filter({ hasText: '厨房' }))
  })
  await test.step('a new product ships by default, and has texts in Chinese', async () => {
    await operator.goTo('/products', '.empty')
    await page.locator('header').getByRole('button', { name: 'New product' }).click()
    await page.locator('[name=name]').fill('Morning Kettle')
    await page.getByRole('combobox', { name: 'Category', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: 'Kitchen' }).click()
    await page.locator('[name=list_price]').fill('459')
    await page.getByText('Texts in other languages').click()
    await page.locator('[name=name-zh]').fill('晨光水壶')
    await page.locator('[name=description-zh]').fill('<p>90 秒烧开。</p><script>steal()</script>')
    await button('Create product').click()
    await page.waitForURL(/products\/\d+$/)
    id = page.url().split('/').at(-1)
    await page.reload()
    await soon(page.locator('[name=name]'))
    await page.getByText('Texts in other languages').click()
    const saved = await savedAs(['name-en', 'name-zh', 'description-zh', 'rules-zh'])
    if (saved !== '|晨光水壶|<p>90 秒烧开。</p>|') throw new Error(saved)
    await soon(page.getByRole('switch', { name: 'Needs a delivery address', checked: true }), 'attached')
    await operator.checkPage('names-product', { fullPage: true })
    await operator.goTo('/products', 'tbody tr')
    await soon(page.locator('tbody tr').getByText('To an address'))
    await operator.checkPage('names-products', { fullPage: true })
  })
  await test.step('two operators edit different texts, and both edits are kept', async () => {
    await page.locator(`a[href$="/products/${id}"]`).click()
    await soon(page.locator('[name=name]'))
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByText('Texts in other languages').click()
    await other.locator('[name=rules-zh]').fill('七天内可退货。')
    await other.getByRole('button', { name: 'Save', exact: true }).click()
    await soon(other.locator('.outcome p'))
    await other.close()
    await page.getByText('Texts in other languages').click()
    await page.locator('[name=name-zh]').fill('晨光电水壶')
    await button('Save').click()
    await soon(
      page.locator('.theirs tr').filter({ hasText: 'Rules (Chinese)' }).filter({ hasText: '七天内' }),
    )
    await button('Save').click()
    await outcome('Morning Kettle is saved')
    const saved = await savedAs(['name-zh', 'rules-zh'])
    if (saved !== '晨光电水壶|七天内可退货。') throw new Error(saved)
  })
  await test.step('the page shows the edited Chinese name of the product', async () => {
    await shop.sell(id, '--price', '99', '--stock', '5')
    const shopper = await open(shop.base, { size: 'phone', lang: 'zh' })
    await soon(shopper.locator('[data-sale] h3').filter({ hasText: '晨光电水壶' }))
    await soon(shopper.locator('[data-sale] .category').filter({ hasText: '厨房' }))
    await page.locator('[name=name-zh]').fill('晨曦水壶')
    await button('Save').click()
    // The sockets report changes of sales, not of products: a page that opens shows the new name.
    const names = shopper.locator('[data-sale] h3')
    await until(async () => {
      await shopper.reload()
      await soon(names)
      return (await names.innerText()).includes('晨曦水壶')
    })
    await shopper.locator('header .lang').dispatchEvent('click')
    await soon(shopper.locator('[data-sale] h3').filter({ hasText: 'Morning Kettle' }))
    expectNoProblems(shopper)
    await shopper.context().close()
  })
  await page.context().close()
})
