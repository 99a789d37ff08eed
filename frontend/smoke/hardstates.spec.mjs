import { expectNoProblems, expectNoSideways, live, reviewPage, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'
import { StagedShop } from './staged.mjs'

/** Units before a reservation in its queue. */
const AHEAD = 12

/** States that are rare on a healthy server, made by a relay. */
test('states', async ({ open, quiet: base }) => {
  const page = await open('about:blank', { size: 'phone', relayed: true })
  const { relay } = page
  const shop = new StagedShop(relay)
  relay.edit(queueBehindOthers)
  await page.goto(base)
  await soon(page.locator('[data-action="buy"]').first())
  const [keyboard, headphones, kettle, lamp, backpack] = shop.salesOf()
  shop.change(keyboard.id, { limit: 1 })
  const checkPage = (what) => reviewPage(page, `state-${what}`)
  const shoot = (what, options) => takeShot(page, `state-${what}`, options)
  const card = (sale) => page.locator(`[data-sale="${sale.id}"]`)
  const button = (sale) => card(sale).locator('[data-action]')
  const waitForLabel = (sale, text) => button(sale).filter({ hasText: text }).waitFor()

  await test.step('a paused sale is marked, and resumes', async () => {
    shop.change(kettle.id, { paused: true })
    await waitForLabel(kettle, 'Paused')
    await shoot('paused')
    shop.change(kettle.id, { paused: false })
    await waitForLabel(kettle, 'Buy')
  })
  await test.step('a sale without stock is sold out', async () => {
    shop.change(headphones.id, { sold: headphones.sold + headphones.stock, stock: 0 })
    await waitForLabel(headphones, 'Sold out')
    await shoot('soldout')
  })
  await test.step('the animated decrease of the stock does not cover other numbers', async () => {
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    const { stock, held } = lamp
    const numbers = card(lamp).locator('.stock')
    for (const [left, unpaid] of [
      [38, 2],
      [1_388, 1_200],
    ]) {
      shop.change(lamp.id, { stock: left + 12, held: unpaid })
      await soon(numbers.getByText(`${(left + 12).toLocaleString('en')} left`))
      shop.change(lamp.id, { stock: left })
      await soon(numbers.getByText(`${left.toLocaleString('en')} left`))
      await numbers.getByText('−12').waitFor({ state: 'attached' })
      await numbers.evaluate(expectNothingCovered, left < 100)
      await numbers.scrollIntoViewIfNeeded()
      if (left < 100) await shoot('fall', { animations: 'allow' })
    }
    await expectNoSideways(page)
    await page.emulateMedia({ reducedMotion: page.reducedMotion }) // restores the initial setting
    shop.change(lamp.id, { stock, held })
  })
  await test.step('the place of a reservation counts down', async () => {
    shop.holdOrders()
    await button(backpack).click()
    await soon(card(backpack).getByText(`${AHEAD} ahead of you`))
    const bars = () =>
      page
        .locator('.place .progress > span')
        .evaluateAll((all) => all.map(({ style }) => style.transform).join(' '))
    await soon(page.locator('.bar.floating .progress'))
    const begun = await bars()
    await shoot('place')
    shop.change(backpack.id, { done: backpack.done + AHEAD })
    await soon(card(backpack).getByText('You are next'))
    const full = await bars()
    // On the card, and in the bar at the bottom.
    if (!/^(scaleX\(0\.04\) ?){2}$/.test(begun) || !/^(scaleX\(1\) ?){2}$/.test(full))
      throw new Error(`the bars are ${begun}, then ${full}`)
    shop.release()
    await waitForLabel(backpack, 'Pay')
  })
  await test.step('a buy is repeated with the same key when the shop is busy: one order', async () => {
    const before = shop.orders.size
    const busy = { error: { code: 'busy', message: 'busy', retry_ms: 100 } }
    relay.answer('buy', () => busy, { performed: true })
    await button(lamp).click()
    await waitForLabel(lamp, 'Pay')
    if (shop.orders.size !== before + 1)
      throw new Error(`got ${shop.orders.size - before} new orders, want 1`)
  })
  await test.step('a buy up to the limit shows Limit reached', async () => {
    await button(keyboard).click()
    await soon(card(keyboard).getByText('Limit reached'))
    await shoot('limit')
  })
  await test.step('an upcoming slot counts down on the button', async () => {
    await page.getByRole('navigation').getByText('Upcoming').or(page.locator('nav .upcoming')).first().click()
    await page
      .getByText(/Opens in \d/)
      .first()
      .waitFor()
    await shoot('upcoming')
  })
  await test.step('a closed slot is marked', async () => {
    await page.locator('nav .closed').first().click()
    await soon(page.getByText('Closed at'))
    await checkPage('closed')
    await page.locator('nav .open').click()
  })
  await test.step('the page reconnects after a node was drained', async () => {
    await relay.drain(3_000)
    await soon(page.locator('.banner'))
    await checkPage('reconnect')
    await live(page)
    await soon(page.locator('.banner'), 'detached')
  })
  await test.step('an address is stored and becomes part of the order', async () => {
    await page.locator('.menu').click()
    await page.locator('dialog[open] .address').press('Enter')
    await page.getByRole('textbox', { name: 'Name' }).fill('Li Lei')
    await page.getByRole('textbox', { name: 'Phone' }).fill('13800000000')
    await page.getByRole('textbox', { name: 'Address' }).fill('1 Long Street')
    await checkPage('address')
    await page.getByRole('button', { name: 'Save' }).click()
    await button(kettle).click()
    await waitForLabel(kettle, 'Pay')
    const bought = relay.received.findLast(({ op }) => op === 'buy')
    if (bought.address?.name !== 'Li Lei') throw new Error('the order has no address')
  })
  await test.step('a notice appears', async () => {
    shop.notify('More kettles at noon.')
    await soon(page.locator('.notices').getByText('More kettles at noon.'))
  })
  await test.step('the page switches to Chinese and to the dark theme', async () => {
    await page.locator('.menu').click()
    await page.locator('dialog[open] .lang').press('Enter')
    await soon(page.getByText('抢购中').first())
    await page.getByRole('button', { name: '切换到深色' }).press('Enter')
    await page.keyboard.press('Escape')
    await checkPage('chinese')
  })
  await test.step('reports no errors', () => expectNoProblems(page))
})

test('an empty shop shows that there are no sales', async ({ open, quiet: base }) => {
  const page = await open('about:blank', { size: 'phone', theme: 'dark', relayed: true })
  page.relay.answer('watch', () => ({ ok: { slots: [], sales: [] } }), { times: Infinity })
  await page.goto(base)
  await soon(page.getByText('No sales today'))
  await reviewPage(page, 'state-empty')
})

/** Adds units before a new reservation. */
function queueBehindOthers(frame) {
  if (frame.ok?.ticket) frame.ok.ticket += AHEAD
  return frame
}

/** Runs in the page. Throws if the falling "−12" covers a number at any time, or is cut off although `whole` is set. */
function expectNothingCovered(numbers, whole) {
  const decrease = numbers.querySelector('.decrease')
  // Restarts the animation, which may have ended on a busy machine.
  decrease.style.animation = 'none'
  decrease.getAnimations()
  decrease.style.animation = ''
  const [flight] = decrease.getAnimations()
  flight.pause()
  for (const at of [0, 200, 400, 600, 850]) {
    flight.currentTime = at
    const box = decrease.getBoundingClientRect()
    const room = decrease.parentElement.getBoundingClientRect()
    const right = getComputedStyle(decrease.parentElement).overflowX === 'clip' ? room.right : Infinity
    if (whole && right < box.right) throw new Error(`cut off by ${box.right - right} px`)
    for (const text of numbers.querySelectorAll('p > :not(.room), .percent, .rate')) {
      if (text.contains(decrease)) continue
      const { left, top, bottom } = text.getBoundingClientRect()
      const beside = Math.min(box.right, right) <= left || text.getBoundingClientRect().right <= box.left
      if (!beside && box.top < bottom && top < box.bottom) throw new Error(`covers ${text.textContent}`)
    }
  }
  flight.currentTime = 200
}
