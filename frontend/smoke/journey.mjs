import { buy, expectNoProblems, live, soon } from './browser.mjs'

/** The main flow of a shopper, on a server with an open sale. */
export async function journey(report, browser, base, look) {
  const { size, theme } = look
  const page = await browser.open(base, { ...look, motion: theme === 'light' ? 'no-preference' : 'reduce' })
  const check = (what, run) => report.check(`journey, ${size}: ${what}`, run)
  const openOrders = async () => size === 'phone' && page.locator('.bag').click()
  const shown = (id, state) =>
    page
      .locator(size === 'phone' ? 'dialog[open]' : '.rail')
      .locator(`[data-order="${id}"][data-state="${state}"]`)
  let id

  await check('connects and shows an open sale', async () => {
    await live(page)
    await soon(page.locator('[data-action="buy"]').first())
  })
  await check('the displayed stock changes', async () => {
    const before = await page.locator('[data-stock]').allInnerTexts()
    await page.waitForFunction(
      (old) => [...document.querySelectorAll('[data-stock]')].some((el, i) => el.innerText !== old[i]),
      before,
    )
  })
  await check('every picture is loaded', async () => {
    const broken = await page.locator('[data-sale] img').evaluateAll(async (images) => {
      images.forEach((image) => (image.loading = 'eager')) // images outside of the viewport load lazily
      await Promise.all(images.map((image) => image.decode().catch(() => undefined)))
      return images.filter((image) => image.naturalWidth === 0).map((image) => image.src)
    })
    if (broken.length > 0) throw new Error(`broken: ${broken.join(', ')}`)
  })
  await check('the sales are accessible and fit', () =>
    browser.checkPage(page, `journey-${size}-${theme}-watching`, { fullPage: true }),
  )
  await check('Buy creates an order with a deadline', async () => {
    id = await buy(page)
    await openOrders()
    const left = await shown(id, 'pending').locator('[data-deadline]').innerText()
    if (!/^\d\d:\d\d$/.test(left) || left === '00:00') throw new Error(`the deadline is ${left}`)
    await browser.checkPage(page, `journey-${size}-${theme}-order`)
  })
  await check('shows the order after a reload, and cancels it', async () => {
    await page.reload()
    await live(page)
    await openOrders()
    await shown(id, 'pending')
      .getByRole('button', { name: /cancel|取消/i })
      .click()
    await soon(shown(id, 'cancelled'))
  })
  await check('reports no errors', () => expectNoProblems(page))
}
