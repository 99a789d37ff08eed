import { PATIENCE_MS, expectNoProblems, expectNoSideways } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** What somebody writes who wants a name to be more than a name. That the server keeps it is app/test/e2e's to show. */
const texts = [
  '<script>globalThis.pwned = 1</script>',
  '"><img src=x onerror="globalThis.pwned = 2">',
  '</script></style></textarea><svg onload="globalThis.pwned = 3">',
  '{{ globalThis.pwned = 4 }} ${globalThis.pwned = 5}',
  '<a href="javascript:globalThis.pwned = 6">Kettle</a>',
  `'; DROP TABLE orders; -- " &lt;b&gt;`,
]

/** Throws unless every text is on the page as it was written, and none of them became anything else. */
async function expectTexts(page, wanted) {
  const shown = await page.evaluate(() => document.body.textContent)
  for (const text of wanted) {
    if (!shown.includes(text)) throw new Error(`not shown as it was written: ${text}`)
  }
  const made = await page.evaluate(() => ({
    pwned: globalThis.pwned,
    elements: document.querySelectorAll('body script, [onerror], [onload], a[href^="javascript"]').length,
  }))
  if (made.pwned !== undefined || made.elements > 0) throw new Error(`became more: ${JSON.stringify(made)}`)
}

/** Names, categories, pictures' words, notices and orders that look like scripts are shown as text: the one part. */
export function hostile(report, browser) {
  return [() => written(report, browser)]
}

async function written(report, browser) {
  const standIn = new StandIn()
  const { shop } = standIn
  let n = 0
  for (const { product } of shop.sales.values()) {
    product.name = texts[n++ % texts.length]
    product.category = product.name
    for (const image of product.images) image.alt = product.name
  }
  const base = await standIn.start()
  const page = await browser.open(base, 'desktop', 'light')
  const order = page.locator('.rail [data-order]').first()
  await report.check('hostile: products are text', async () => {
    await page
      .locator('[data-sale]')
      .nth(texts.length - 1)
      .waitFor({ timeout: PATIENCE_MS })
    await expectTexts(page, texts)
    await expectNoSideways(page)
  })
  await report.check('hostile: a notice is text', async () => {
    shop.tell(undefined, { ev: 'notice', level: 'warn', text: `Notice: ${texts[1]}` })
    await page.getByText('Notice: ').first().waitFor({ timeout: PATIENCE_MS })
    await expectTexts(page, [`Notice: ${texts[1]}`])
  })
  await report.check('hostile: an order is text, with its reason', async () => {
    await page.locator('[data-sale] [data-does="buy"]').first().click({ timeout: PATIENCE_MS })
    await order.locator('.pay').waitFor({ timeout: PATIENCE_MS })
    for (const held of shop.orders.values()) held.reason = texts[1]
    await page.reload()
    await order.waitFor({ timeout: PATIENCE_MS })
    await expectTexts(page, [texts[0]])
    const names = await page.locator('.rail').innerText()
    if (!texts.some((text) => names.includes(text))) throw new Error(`the order says ${names}`)
  })
  await report.check('hostile: an address book is text', async () => {
    const { accounts } = standIn
    const answer = accounts.answer.bind(accounts)
    const addresses = texts.map((text, i) => ({
      id: `${i + 1}`,
      name: text,
      phone: text,
      text,
      default: i === 0,
    }))
    accounts.answer = (method, path, said) =>
      method === 'GET' && path.endsWith('/me/addresses') ? [200, { addresses }] : answer(method, path, said)
    await page.locator('header .address').click()
    await page.locator('dialog[open] [name="address"]').nth(texts.length).waitFor({ timeout: PATIENCE_MS })
    const book = await page.locator('dialog[open]').innerText()
    for (const text of texts) if (!book.includes(text)) throw new Error(`not in the book: ${text}`)
    await expectTexts(page, texts)
  })
  await report.check('hostile: nothing was refused or failed', () => expectNoProblems(page))
  await browser.shoot(page, 'hostile')
  await page.context().close()
  standIn.close()
}
