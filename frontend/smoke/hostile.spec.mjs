import { expectNoProblems, expectNoSideways, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'
import { StagedShop } from './staged.mjs'

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

/** Replaces the texts of all products and orders in a frame. */
function makeHostile(frame) {
  for (const [n, { product }] of (frame.ok?.sales ?? []).entries()) {
    const text = texts[n % texts.length]
    Object.assign(product, { name: text, category: text, texts: { zh: { name: text, category: text } } })
    for (const image of product.images) image.alt = text
  }
  const missed = frame.ok?.missed?.map(({ order }) => order) ?? []
  for (const order of [frame.order, ...missed, ...(frame.ok?.orders ?? [])].filter(Boolean))
    Object.assign(order, { product_name: texts[0], texts: {}, reason: texts[1] })
  return frame
}

/**
 * Checks that names, categories, picture texts, banners, orders and addresses that look like scripts are shown as text.
 */
test('hostile', async ({ open, quiet: base }) => {
  const page = await open('about:blank', { lang: 'zh', relayed: true })
  const shop = new StagedShop(page.relay)
  page.relay.edit(makeHostile)
  await page.goto(base)
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
    shop.notify(`Notice: ${texts[1]}`, 'warn')
    await soon(page.getByText('Notice: ').first())
    await expectTexts(page, [`Notice: ${texts[1]}`])
  })
  await test.step('an order and its reason are shown as text', async () => {
    await page.locator('[data-sale] [data-action="buy"]').first().click()
    await soon(order.locator('.pay'))
    await page.reload()
    await soon(order)
    await expectTexts(page, [texts[0]])
    const names = await page.locator('.rail').innerText()
    if (!texts.some((text) => names.includes(text))) throw new Error(`the order list shows ${names}`)
  })
  await test.step('an address book is shown as text', async () => {
    const addresses = texts.map((text, i) => ({
      id: `${i + 1}`,
      name: text,
      phone: text,
      text,
      default: i === 0,
    }))
    await page.route('**/me/addresses', (route) => route.fulfill({ json: { addresses } }))
    await page.locator('header .address').click()
    await soon(page.locator('dialog[open] [name="address"]').nth(texts.length))
    const book = await page.locator('dialog[open]').innerText()
    for (const text of texts) if (!book.includes(text)) throw new Error(`not in the book: ${text}`)
    await expectTexts(page, texts)
  })
  await test.step('reports no errors', () => expectNoProblems(page))
  await takeShot(page, 'hostile')
})
