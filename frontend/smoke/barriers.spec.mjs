import { expectNoProblems, reviewPage, soon } from './browser.mjs'
import { test } from './fixtures.mjs'
import { expectInvalid } from './visitor.mjs'
import { stampede } from './program.mjs'

/** Proof of work and a captcha before an order, on a real shop. */
test('barriers', async ({ open, quiet: base, quietData: data, reader }) => {
  const look = { size: 'phone', theme: 'light' }
  const page = await open('about:blank', look)
  const frames = recordFrames(page)
  await page.goto(base)
  const dialog = page.locator('dialog[open]')
  const token = (await stampede(data, ['token', '--user', '1', '--role', 'admin'])).trim()
  const operator = { STAMPEDE_URL: base, STAMPEDE_TOKEN: token }
  const setChallenge = (sale, kind) =>
    stampede(data, ['challenge', '--sale', sale, '--kind', kind], undefined, operator)
  const cards = page.locator('[data-sale]')
  await soon(cards.first())
  // The other tests buy from the first cards.
  const sales = await cards.evaluateAll((all) => all.slice(-2).map((card) => card.dataset.sale))

  for (const [n, kind] of ['work', 'captcha'].entries()) {
    await test.step(`a sale requires a solved challenge (${kind}) before a buy creates an order`, async () => {
      const sale = sales[n]
      const card = page.locator(`[data-sale="${sale}"]`)
      const button = (action) => card.locator(`[data-action="${action}"][aria-disabled="false"]`)
      await setChallenge(sale, kind)
      await soon(card.locator('.pass'), 'attached')
      await button('buy').click()
      if (kind === 'captcha') {
        await soon(dialog.locator('img'))
        await reviewPage(page, 'barriers-captcha')
        await page.keyboard.press('Enter')
        await expectInvalid(dialog, ['captcha'])
        await reviewPage(page, 'barriers-captcha-empty')
        await page.keyboard.type('000000')
        await expectInvalid(dialog, [])
        await page.keyboard.press('Enter')
        await expectInvalid(dialog, ['captcha'])
        await soon(dialog.locator('img'))
        const { challenge } = frames.findLast(({ ok }) => ok?.challenge?.kind === kind).ok
        await dialog.locator('[name=captcha]').fill(await reader.captcha(challenge.id.split('.')[0]))
        await page.keyboard.press('Enter')
      }
      await soon(button('pay'))
      const solved = frames.findLast(({ op, sale: of }) => op === 'solve' && of === sale)
      const bought = frames.findLast(({ op, sale: of }) => op === 'buy' && of === sale)
      if (!/^\d+$/.test(solved?.answer ?? '') || !bought?.pass)
        throw new Error(`solved with ${solved?.answer}, bought with the pass ${bought?.pass}`)
      await setChallenge(sale, 'none')
    })
  }
  await test.step('the page reports no errors', () => expectNoProblems(page))
})

/** Records every frame of the page's sockets from now on, in both directions. */
function recordFrames(page) {
  const frames = []
  const take = ({ payload }) => frames.push(JSON.parse(payload))
  page.on('websocket', (socket) => socket.on('framesent', take).on('framereceived', take))
  return frames
}
