import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PATIENCE_MS, expectNoProblems } from './browser.mjs'

const run = promisify(execFile)
const program = new URL('../../bin/stampede', import.meta.url).pathname

/**
 * What stands between a press and an order, on a real shop: work, which the page does in its worker, and a picture. `data` is
 * the shop's folder, in which the program is told what two of its sales ask for; `reader` knows what pictures show.
 */
export async function barriers(report, browser, base, data, reader) {
  const page = await browser.open('about:blank', 'phone', 'light')
  const heard = listen(page)
  await page.goto(base)
  const dialog = page.locator('dialog[open]')
  const asksFor = (sale, kind) =>
    run(program, ['challenge', '--sale', sale, '--kind', kind], {
      env: { ...process.env, STAMPEDE_DATA: data },
    })
  const cards = page.locator('[data-sale]')
  await cards.first().waitFor({ timeout: PATIENCE_MS })
  const sales = await cards.evaluateAll((all) => all.slice(-2).map((card) => card.dataset.sale))

  for (const [n, kind] of ['work', 'captcha'].entries()) {
    await report.check(`a real shop asks for ${kind} before a buy, and then there is an order`, async () => {
      const sale = sales[n]
      const card = page.locator(`[data-sale="${sale}"]`)
      const becomes = (does) =>
        card.locator(`[data-does="${does}"][aria-disabled="false"]`).waitFor({ timeout: PATIENCE_MS })
      await asksFor(sale, kind)
      await card.locator('.pass').waitFor({ state: 'attached', timeout: PATIENCE_MS })
      await becomes('buy')
      await card.locator('[data-does="buy"]').click()
      if (kind === 'captcha') {
        await dialog.locator('img').waitFor({ timeout: PATIENCE_MS })
        const { challenge } = heard.findLast(({ ok }) => ok?.challenge?.kind === kind).ok
        await dialog.locator('[name=captcha]').fill(await reader.captcha(challenge.id.split('.')[0]))
        await page.keyboard.press('Enter')
      }
      await becomes('pay')
      const solved = heard.findLast(({ op, sale: of }) => op === 'solve' && of === sale)
      const bought = heard.findLast(({ op, sale: of }) => op === 'buy' && of === sale)
      if (!/^\d+$/.test(solved?.answer ?? '') || !bought?.pass)
        throw new Error(`solved with ${solved?.answer}, bought with the pass ${bought?.pass}`)
      await asksFor(sale, 'none')
    })
  }
  await report.check('a real shop that asks for something reports no errors', () => expectNoProblems(page))
  await page.context().close()
}

/** Every frame of the page's sockets from now on, in both directions. */
function listen(page) {
  const frames = []
  const take = ({ payload }) => frames.push(JSON.parse(payload))
  page.on('websocket', (socket) => socket.on('framesent', take).on('framereceived', take))
  return frames
}
