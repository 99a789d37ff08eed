import { expectNoProblems, expectNoSideways, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'

/** Texts that look like scripts. app/test/e2e shows that the server stores them unchanged. */
const texts = [
  '<script>globalThis.pwned = 1</script>',
  '"><img src=x onerror="globalThis.pwned = 2">',
  '</script></style></textarea><svg onload="globalThis.pwned = 3">',
  '{{ globalThis.pwned = 4 }} ${globalThis.pwned = 5}',
  '<a href="javascript:globalThis.pwned = 6">Kettle</a>',
  `'; DROP TABLE orders; -- " &lt;b&gt;`,
]

/** Throws unless the page contains every text unchanged and has no element made from one. */
async function expectTexts(page, wanted) {
  const shown = await page.evaluate(() => document.body.textContent)
  for (const text of wanted) {
    if (!shown.includes(text)) throw new Error(`not shown unchanged: ${text}`)
  }
  const made = await page.evaluate(() => ({
    pwned: globalThis.pwned,
    elements: document.querySelectorAll('body script, [onerror], [onload], a[href^="javascript"]').length,
  }))
  if (made.pwned !== undefined || made.elements > 0)
    throw new Error(`a text became an element or ran: ${JSON.stringify(made)}`)
}

/**
 * Checks that names, categories, picture texts, banners, orders and addresses that look like scripts are shown as text.
 */
test('hostile', async ({ open, standIn }) => {
  const { shop } = standIn
  let n = 0
  for (const { product } of shop.sales.values()) {
    product.name = texts[n++ % texts.length]
    product.category = product.name
    for (const image of product.images) image.alt = product.name
  }
  const page = await open(standIn.base, { lang: 'zh' })
  const order = page.locator('.rail [data-order]').first()
  await test.step('product texts are shown as text', async () => {
    await page
      .locator('[data-sale]')
      .nth(texts.length - 1)
      .waitFor()
    await expectTexts(page, texts)
    await expectNoSideways(page)
  })
  await test.step('a notice is shown as text', async () => {
    shop.publish(undefined, { ev: 'notice', level: 'warn', text: `Notice: ${texts[1]}` })
    await soon(page.getByText('Notice: ').first())
    await expectTexts(page, [`Notice: ${texts[1]}`])
  })
  await test.step('an order and its reason are shown as text', async () => {
    await page.locator('[data-sale] [data-action="buy"]').first().click()
    await soon(order.locator('.pay'))
    for (const held of shop.orders.values()) held.reason = texts[1]
    await page.reload()
    await soon(order)
    await expectTexts(page, [texts[0]])
    const names = await page.locator('.rail').innerText()
    if (!texts.some((text) => names.includes(text))) throw new Error(`the order list shows ${names}`)
  })
  await test.step('an address book is shown as text', async () => {
    const { accounts } = standIn
    const answer = accounts.answer.bind(accounts)
    const addresses = texts.map((text, i) => ({
      id: `${i + 1}`,
      name: text,
      phone: text,
      text,
      default: i === 0,
    }))
    accounts.answer = (method, path, body) =>
      method === 'GET' && path.endsWith('/me/addresses') ? [200, { addresses }] : answer(method, path, body)
    await page.locator('header .address').click()
    await soon(page.locator('dialog[open] [name="address"]').nth(texts.length))
    const book = await page.locator('dialog[open]').innerText()
    for (const text of texts) if (!book.includes(text)) throw new Error(`not in the book: ${text}`)
    await expectTexts(page, texts)
  })
  await test.step('reports no errors', () => expectNoProblems(page))
  await takeShot(page, 'hostile')
})
