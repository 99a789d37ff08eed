import { buy, confirmation, expectNoProblems, live, reviewPage, soon } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'

/** The main flow of a shopper, on a server with an open sale. */
for (const look of [desktopLight, { ...phoneDark, lang: 'zh' }])
  test(`journey, ${look.size}`, async ({ open, busy: base }) => {
    const { size, theme } = look
    const page = await open(base, { ...look, motion: theme === 'light' ? 'no-preference' : 'reduce' })
    const openOrders = async () => size === 'phone' && page.locator('.bag').click()
    const shown = (id, state) =>
      page.locator(size === 'phone' ? 'main' : '.rail').locator(`[data-order="${id}"][data-state="${state}"]`)
    let id

    await test.step('connects and shows an open sale', async () => {
      await live(page)
      await soon(page.locator('[data-action="buy"]').first())
    })
    await test.step('the displayed stock changes', async () => {
      const before = await page.locator('[data-stock]').allInnerTexts()
      await page.waitForFunction(
        (old) => [...document.querySelectorAll('[data-stock]')].some((el, i) => el.innerText !== old[i]),
        before,
      )
    })
    await test.step('every picture is loaded', async () => {
      const broken = await page.locator('[data-sale] img').evaluateAll(async (images) => {
        images.forEach((image) => (image.loading = 'eager')) // images outside of the viewport load lazily
        await Promise.all(images.map((image) => image.decode().catch(() => undefined)))
        return images.filter((image) => image.naturalWidth === 0).map((image) => image.src)
      })
      if (broken.length > 0) throw new Error(`broken: ${broken.join(', ')}`)
    })
    await test.step('the sales are accessible and fit', () =>
      reviewPage(page, `journey-${size}-${theme}-watching`, { fullPage: true }))
    await test.step('Buy creates an order with a deadline', async () => {
      id = await buy(page)
      await openOrders()
      const left = await shown(id, 'pending').locator('[data-deadline]').innerText()
      if (!/^\d\d:\d\d$/.test(left) || left === '00:00') throw new Error(`the deadline is ${left}`)
      await reviewPage(page, `journey-${size}-${theme}-order`)
    })
    const cancel = () =>
      shown(id, 'pending')
        .getByRole('button', { name: /cancel|取消/i })
        .click()
    await test.step('shows the order after a reload; Cancel asks, and dismissing keeps the order', async () => {
      await page.reload()
      await live(page)
      const dialog = page.locator('dialog[open]')
      for (const dismiss of [
        () => dialog.getByRole('button', { name: /Keep the order|暂不取消/ }).click(),
        () => page.keyboard.press('Escape'),
        () => page.goBack(),
      ]) {
        await cancel()
        await soon(confirmation(page))
        await dismiss()
        await soon(dialog, 'hidden')
      }
      await cancel()
      await reviewPage(page, `journey-${size}-${theme}-cancel`)
      await page.reload()
      await soon(confirmation(page))
      await page.keyboard.press('Escape')
      await soon(shown(id, 'pending'))
    })
    await test.step('the confirmation cancels the order', async () => {
      await cancel()
      await confirmation(page).click()
      await soon(shown(id, 'cancelled'))
    })
    await test.step('reports no errors', () => expectNoProblems(page))
  })
