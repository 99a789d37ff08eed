import { ENDLESS_BITS, expectNoProblems, reviewPage, soon, takeShot, until } from './browser.mjs'
import { test } from './fixtures.mjs'

/** Proof of work and captchas before an order, on the stand-in server. On a phone, `barriers` covers them. */
test('challenge', async ({ open, standIn }) => {
  const { base, shop } = standIn
  const [free, work, hard, picture] = [...shop.sales.values()].filter((s) => s.slot === shop.current().id)
  Object.assign(free, { pass: true })
  Object.assign(work, { pass: true, challenge: 'work' })
  Object.assign(picture, { pass: true, challenge: 'captcha' })
  const page = await open(base, { theme: 'dark', lang: 'zh' })
  const checkPage = (what) => reviewPage(page, `challenge-${what}`)
  const shoot = (what) => takeShot(page, `challenge-${what}`)
  const card = (sale) => page.locator(`[data-sale="${sale.id}"]`)
  const button = (sale) => card(sale).locator('[data-action]')
  const waitForAction = (sale, action) =>
    card(sale).locator(`[data-action="${action}"][aria-disabled="false"]`).waitFor()
  const dialog = page.locator('dialog[open]')
  const framesOf = (op) => standIn.received.filter((frame) => frame.op === op)
  const scrollTo = (sale) => card(sale).evaluate((el) => el.scrollIntoView({ block: 'center' }))

  await test.step('a pass without a challenge is available before the click, and one click sends one buy', async () => {
    await waitForAction(free, 'buy')
    await scrollTo(free)
    await soon(card(free).locator('.pass .ready'))
    await checkPage('ready')
    await button(free).click()
    await waitForAction(free, 'pay')
    const [buy, ...more] = framesOf('buy')
    if (!buy.pass || more.length > 0)
      throw new Error(
        `got ${1 + more.length} buy requests, the first with the pass ${buy.pass}; want 1 with a pass`,
      )
    if (await dialog.isVisible()) throw new Error('a sheet is open')
  })
  await test.step('proof of work is done in advance in a worker, and one click buys', async () => {
    await scrollTo(work)
    await soon(card(work).locator('.pass .ready'))
    await button(work).click()
    await waitForAction(work, 'pay')
    const solved = framesOf('solve').find(({ sale }) => sale === work.id)
    if (!/^\d+$/.test(solved?.answer ?? '')) throw new Error('no solution was sent')
  })
  await test.step('long proof of work shows its progress and can be cancelled', async () => {
    shop.bits = ENDLESS_BITS
    shop.change(hard.id, { pass: true, challenge: 'work' })
    await scrollTo(hard)
    await button(hard).click()
    await soon(dialog.getByRole('progressbar'))
    await checkPage('work')
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await waitForAction(hard, 'buy')
    await shoot('given-up')
    const focus = await page.evaluate(() => document.activeElement.closest('[data-sale]')?.dataset.sale)
    if (focus !== hard.id) throw new Error(`the focus is on ${focus}`)
    shop.bits = 12
  })
  await test.step('a captcha is required, a wrong answer is reported, and the buy continues', async () => {
    await scrollTo(picture)
    await button(picture).click()
    await soon(dialog.locator('img'))
    await page.waitForFunction(() => document.activeElement.name === 'captcha')
    await checkPage('picture')
    await page.keyboard.type('00000')
    await page.keyboard.press('Enter')
    await soon(dialog.locator('.problem:not(:empty)'))
    await soon(dialog.locator('img'))
    await shoot('picture-wrong')
    const before = standIn.accounts.newest
    await dialog.locator('.captcha button').click()
    await page.waitForFunction(() => document.querySelector('.captcha img'))
    await until(() => standIn.accounts.newest !== before)
    await soon(dialog.locator('img'))
    await dialog.locator('[name=captcha]').fill(standIn.accounts.newest)
    await page.keyboard.press('Enter')
    await soon(dialog, 'hidden')
    await waitForAction(picture, 'pay')
  })
  await test.step('the captcha can be solved before the opening, and one click buys at the opening', async () => {
    const next = shop.slots[shop.slots.indexOf(shop.current()) + 1]
    const sale = [...shop.sales.values()].find((s) => s.slot === next.id)
    const opensIn = (ms) => {
      shop.endCurrentIn(ms)
      shop.publishSlots()
      shop.change(sale.id, { pass: true, challenge: 'captcha' })
    }
    opensIn(58_000) // passes are available one minute before
    await page.locator('nav .upcoming').first().click()
    await scrollTo(sale)
    await card(sale).locator('.pass button').click()
    await soon(dialog.locator('img'))
    await shoot('early')
    await dialog.locator('[name=captcha]').fill(standIn.accounts.newest)
    await page.keyboard.press('Enter')
    await soon(card(sale).locator('.pass .ready'))
    opensIn(1_000)
    await waitForAction(sale, 'buy')
    standIn.received.length = 0
    await button(sale).click()
    await waitForAction(sale, 'pay')
    if (framesOf('buy').length !== 1) throw new Error(`got ${framesOf('buy').length} buy requests, want 1`)
  })
  await test.step('reports no errors', () => expectNoProblems(page))
})
