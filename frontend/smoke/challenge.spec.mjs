import { expectNoProblems, reviewPage, soon, takeShot, until } from './browser.mjs'
import { test } from './fixtures.mjs'
import { demoReader } from './mailbox.mjs'

/** Proof of work and captchas before an order. On a phone, `barriers` covers them. */
test('challenge', async ({ open, shop }) => {
  const create = ['product', 'create', '--name=Pot', '--list-price=99', '--no-ships', '--json']
  const product = JSON.parse(await shop.run(create)).id
  const sales = []
  for (const kind of ['pass', 'work', 'none', 'captcha', 'captcha'])
    sales.push(await shop.sell(product, '--price=9', '--stock=9', '--limit=2', `--challenge=${kind}`))
  const [free, work, hard, picture, next] = sales
  const page = await open('about:blank', { theme: 'dark', lang: 'zh', relayed: true })
  const { relay } = page
  /** The last sale frame of the last sale, and its opening. Passes are available one minute before. */
  let upcoming
  let opensAt = Date.now() + 58_000
  let captcha
  relay.edit((frame) => {
    for (const sale of [...(frame.ok?.sales ?? []), frame.sale]) {
      if (sale?.id !== next) continue
      sale.opens_at = opensAt
      upcoming = sale
    }
    if (frame.ok?.challenge?.kind === 'captcha') captcha = frame.ok.challenge.id
    return frame
  })
  await page.goto(shop.base)
  const reader = demoReader('', shop.redis)
  const solve = async () => dialog.locator('[name=captcha]').fill(await reader.captcha(captcha.split('.')[0]))
  const checkPage = (what) => reviewPage(page, `challenge-${what}`)
  const shoot = (what) => takeShot(page, `challenge-${what}`)
  const card = (sale) => page.locator(`[data-sale="${sale}"]`)
  const button = (sale) => card(sale).locator('[data-action]')
  const waitForAction = (sale, action) =>
    card(sale).locator(`[data-action="${action}"][aria-disabled="false"]`).waitFor()
  const dialog = page.locator('dialog[open]')
  const sent = (op, sale) => relay.received.filter((frame) => frame.op === op && frame.sale === sale)
  const scrollTo = (sale) => card(sale).evaluate((el) => el.scrollIntoView({ block: 'center' }))

  await test.step('a pass without a challenge is available before the click, and one click sends one buy', async () => {
    await waitForAction(free, 'buy')
    await scrollTo(free)
    await soon(card(free).locator('.pass .ready'))
    await checkPage('ready')
    await button(free).click()
    await waitForAction(free, 'pay')
    const [buy, ...more] = sent('buy', free)
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
    const [solved] = sent('solve', work)
    if (!/^\d+$/.test(solved?.answer ?? '')) throw new Error('no solution was sent')
  })
  await test.step('long proof of work shows its progress and can be cancelled', async () => {
    await shop.run(['challenge', '--bits', '26'])
    await shop.run(['challenge', '--sale', hard, '--kind', 'work'])
    await soon(card(hard).locator('.pass'), 'attached')
    await scrollTo(hard)
    await button(hard).click()
    await soon(dialog.getByRole('progressbar'))
    await checkPage('work')
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await waitForAction(hard, 'buy')
    await shoot('given-up')
    await page.waitForFunction(
      (sale) => document.activeElement.closest('[data-sale]')?.dataset.sale === sale,
      hard,
    )
    await shop.run(['challenge', '--sale', hard, '--kind', 'none']) // ends the work
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
    const before = captcha
    await dialog.locator('.captcha button').click()
    await until(() => captcha !== before)
    await soon(dialog.locator('img'))
    await solve()
    await page.keyboard.press('Enter')
    await soon(dialog, 'hidden')
    await waitForAction(picture, 'pay')
  })
  await test.step('the captcha can be solved before the opening, and one click buys at the opening', async () => {
    await scrollTo(next)
    await card(next).locator('.pass button').click()
    await soon(dialog.locator('img'))
    await shoot('early')
    await solve()
    await page.keyboard.press('Enter')
    await soon(card(next).locator('.pass .ready'))
    opensAt = Date.now()
    relay.send({ ev: 'sale', sale: { ...upcoming, opens_at: opensAt } })
    await waitForAction(next, 'buy')
    await button(next).click()
    await waitForAction(next, 'pay')
    const buys = sent('buy', next).length
    if (buys !== 1) throw new Error(`got ${buys} buy requests, want 1`)
  })
  await test.step('reports no errors', () => expectNoProblems(page))
})
