import { expectAccessible, expectNoProblems, live, soon, takeShot, until } from './browser.mjs'
import { test } from './fixtures.mjs'

/** Longer than the page's limit for the next frame, after which it treats the connection as lost. */
const SILENCE_MS = 6_000

/** A connection that stalls, and an idle connection. */
test('line', async ({ open, quiet: base }) => {
  const page = await open(base, { size: 'phone', theme: 'dark', relayed: true })
  const { relay } = page
  const freshness = (word) =>
    page.waitForFunction((wanted) => document.documentElement.dataset.freshness === wanted, word)
  const buyable = page.locator('[data-sale] .button:not([disabled]):not([aria-disabled="true"])')

  await test.step('a stalled connection is not shown as live, and Buy is disabled', async () => {
    await live(page)
    await soon(buyable.first())
    relay.stall()
    await freshness('connecting')
    if (await page.locator('.live.on').isVisible()) throw new Error('the page shows Live')
    if ((await buyable.count()) > 0) throw new Error('Buy can be pressed')
    await takeShot(page, 'line-stalled')
    await expectAccessible(page)
  })
  await test.step('the page is live again after the first frame, without a message of a lost connection', async () => {
    await relay.resume()
    await freshness('live')
    await live(page)
    await soon(page.locator('.banner'), 'detached')
    await soon(buyable.first())
    await soon(page.getByText(/connection was lost/), 'hidden')
  })
  await test.step('a shop without changes is shown as live', async () => {
    relay.edit((frame) => (frame.ev === 'tick' ? undefined : frame))
    await page.waitForTimeout(SILENCE_MS)
    if (!(await page.locator('.live.on').isVisible()))
      throw new Error('the page treats silence as a lost connection')
  })
})

/** The page before its script, its guest and its hello. */
test('first card', async ({ open, quiet: base }) => {
  await test.step('a skeleton is shown before the script runs, under the security policy', async () => {
    for (const look of [
      { size: 'phone', theme: 'light' },
      { size: 'desktop', theme: 'dark' },
    ]) {
      const page = await open('about:blank', look)
      await page.route('**/*.js', () => undefined)
      await page.goto(base, { waitUntil: 'commit' })
      await page.waitForFunction(() => document.querySelector('.bone-card')?.offsetHeight > 200)
      await takeShot(page, `skeleton-${look.size}-${look.theme}`)
      expectNoProblems(page)
      await page.context().close()
    }
  })
  await test.step('cards do not wait for the guest, but Buy does', async () => {
    let allow
    const allowed = new Promise((resolve) => (allow = resolve))
    const page = await open('about:blank')
    await page.route('**/auth/guest', (route) => allowed.then(() => route.continue()))
    await page.goto(base)
    const buy = page.locator('[data-action="buy"][aria-disabled="false"]').first()
    await soon(page.locator('[data-sale]').first())
    if (await buy.isVisible()) throw new Error('Buy is active before a guest exists')
    allow()
    await soon(buy)
    expectNoProblems(page)
    await page.context().close()
  })
  await test.step('watch does not wait for the reply to hello', async () => {
    const page = await open('about:blank', { relayed: true })
    let welcome
    page.relay.edit((frame) => {
      if (!frame.ok?.version) return frame
      welcome = frame
    })
    await page.goto(base)
    await until(() => welcome && page.relay.received.some(({ op }) => op === 'watch'))
    page.relay.send(welcome)
    await soon(page.locator('[data-sale]').first())
  })
})
