import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways, appearances } from './browser.mjs'

/** How long a press may be without an order until another one is made. */
const PRESS_MS = 10_000
/** The longest wait for a slot to open: the rolling schedule has no gaps, but a server may just have started. */
const OPENING_MS = 120_000

const buyButton = '[data-sale] [data-does="buy"]'

/** The orders as they are shown at this size: beside the page, or in the drawer that the bag opens. */
function orders(page, size) {
  return page.locator(size === 'phone' ? 'dialog[open] [data-order]' : '.rail [data-order]')
}

async function openOrders(page, size) {
  if (size === 'phone') await page.locator('.bag').click()
}

async function closeOrders(page, size) {
  if (size === 'phone') await page.keyboard.press('Escape')
}

/** Presses Buy until an order shows: simulated shoppers may take the last unit first. */
async function pressBuy(page, size) {
  for (let presses = 1; ; presses++) {
    await page.locator(buyButton).last().click()
    await openOrders(page, size)
    try {
      return await orders(page, size).first().waitFor({ timeout: PRESS_MS })
    } catch (error) {
      if (presses === 3) throw error
      await closeOrders(page, size)
    }
  }
}

/** The main job, as a shopper does it, at every size and in every theme: the parts. Work against any server that sells. */
export function journeys(report, browser, base) {
  return appearances.map(
    ([size, theme]) =>
      () =>
        journey(report, browser, base, size, theme),
  )
}

async function journey(report, browser, base, size, theme) {
  const name = `${size} ${theme}`
  const page = await browser.open(base, size, theme, theme === 'light' ? 'no-preference' : 'reduce')
  const check = (what, run) => report.check(`${name}: ${what}`, run)

  await check('connects and shows sales', async () => {
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await page.locator('[data-sale]').first().waitFor({ timeout: PATIENCE_MS })
  })
  await check('a sale is open', () => page.locator(buyButton).first().waitFor({ timeout: OPENING_MS }))
  await check('stock moves while watching', async () => {
    const before = await page.locator('[data-stock]').allInnerTexts()
    await page.waitForFunction(
      (old) => [...document.querySelectorAll('[data-stock]')].some((el, i) => el.innerText !== old[i]),
      before,
      { timeout: PATIENCE_MS },
    )
  })
  await browser.shoot(page, `${size}-${theme}-watching`, { fullPage: true })
  await check('pictures are there', async () => {
    const broken = await page.locator('[data-sale] img').evaluateAll(async (images) => {
      // Those further down would only load when they come into sight.
      images.forEach((image) => (image.loading = 'eager'))
      await Promise.all(images.map((image) => image.decode().catch(() => undefined)))
      return images.filter((image) => image.naturalWidth === 0).map((image) => image.src)
    })
    if (broken.length > 0) throw new Error(`broken: ${broken.join(', ')}`)
  })
  await check('has no serious accessibility problem', () => expectAccessible(page))
  await check('fits its window', () => expectNoSideways(page))

  await check('Buy gives an order with a deadline', async () => {
    await pressBuy(page, size)
    await orders(page, size).first().locator('[data-deadline]').waitFor({ timeout: PATIENCE_MS })
    const left = await orders(page, size).first().locator('[data-deadline]').innerText()
    if (!/^\d\d:\d\d$/.test(left) || left === '00:00') throw new Error(`deadline says ${left}`)
  })
  await browser.shoot(page, `${size}-${theme}-order`)
  await check('is accessible with an order', () => expectAccessible(page))
  const id = await orders(page, size).first().getAttribute('data-order')
  const mine = orders(page, size).and(page.locator(`[data-order="${id}"]`))

  await check('still shows the order after a reload', async () => {
    await page.reload()
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await openOrders(page, size)
    await mine.and(page.locator('[data-state="pending"]')).waitFor({ timeout: PATIENCE_MS })
  })
  await check('cancels the order', async () => {
    await mine.getByRole('button', { name: /cancel/i }).click()
    await mine.and(page.locator('[data-state="cancelled"]')).waitFor({ timeout: PATIENCE_MS })
  })
  await closeOrders(page, size)
  await check('reports no errors', () => expectNoProblems(page))
  await browser.shoot(page, `${size}-${theme}-after`)
  await page.context().close()
}
