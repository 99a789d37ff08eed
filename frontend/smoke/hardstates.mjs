import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways, sizes } from './browser.mjs'
import { StandIn, tokenOf } from './standin/server.mjs'

/** States that a healthy server shows rarely, each brought about on the stand-in: the parts. */
export function hardStates(report, browser) {
  return Object.keys(sizes).map((size) => () => rareStates(report, browser, size))
}

async function rareStates(report, browser, size) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const { shop } = standIn
  const open = [...shop.sales.values()].filter((sale) => sale.slot === shop.current().id)
  const [headphones, kettle, keyboard, lamp, backpack] = open
  const page = await browser.open(base, size, 'light')
  const check = (what, run) => report.check(`${size}: ${what}`, run)
  const card = (sale) => page.locator(`[data-sale="${sale.id}"]`)
  const button = (sale) => card(sale).locator('[data-does]')
  const says = (sale, text) => button(sale).filter({ hasText: text }).waitFor({ timeout: PATIENCE_MS })
  await button(kettle).waitFor({ timeout: PATIENCE_MS })

  await check('a paused sale says so and goes on', async () => {
    shop.change(kettle.id, { paused: true })
    await says(kettle, 'Paused')
    await browser.shoot(page, `${size}-state-paused`)
    shop.change(kettle.id, { paused: false })
    await says(kettle, 'Buy')
  })
  await check('a sale without stock is sold out', async () => {
    shop.change(headphones.id, { sold: headphones.sold + headphones.stock, stock: 0 })
    await says(headphones, 'Sold out')
    await browser.shoot(page, `${size}-state-soldout`)
  })
  await check('a fall of the stock floats between the numbers and covers neither', async () => {
    standIn.bustling = false
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    const { stock, held } = lamp
    const numbers = card(lamp).locator('.stock')
    for (const [left, unpaid] of [
      [38, 2],
      [1_388, 1_200],
    ]) {
      shop.change(lamp.id, { stock: left + 12, held: unpaid })
      await numbers.getByText(`${left + 12} left`).waitFor({ timeout: PATIENCE_MS })
      shop.change(lamp.id, { stock: left })
      await numbers.getByText(`${left} left`).waitFor({ timeout: PATIENCE_MS })
      await numbers.getByText('−12').waitFor({ state: 'attached', timeout: PATIENCE_MS })
      await numbers.evaluate(expectNothingCovered, left < 100)
      await numbers.scrollIntoViewIfNeeded()
      if (left < 100) await browser.shoot(page, `${size}-state-fall`, { animations: 'allow' })
    }
    await expectNoSideways(page)
    await page.emulateMedia({ reducedMotion: page.reducedMotion }) // as it was opened
    shop.change(lamp.id, { stock, held })
    standIn.bustling = true
  })
  await check('a place counts down', async () => {
    shop.settleAfter = Infinity
    standIn.bustling = false // nobody else moves the line
    backpack.tickets += 12
    await button(backpack).click()
    await card(backpack).getByText('12 before you').waitFor({ timeout: PATIENCE_MS })
    const bars = () =>
      page
        .locator('.place .progress > span')
        .evaluateAll((all) => all.map(({ style }) => style.transform).join(' '))
    const begun = await bars()
    await browser.shoot(page, `${size}-state-place`)
    shop.change(backpack.id, { done: backpack.done + 12 })
    await card(backpack).getByText('You are next').waitFor({ timeout: PATIENCE_MS })
    const full = await bars()
    // One on the card, one in the list, and on a phone one in the bar at the bottom: all alike.
    if (!/^(scaleX\(0\.04\) ?){2,3}$/.test(begun) || !/^(scaleX\(1\) ?){2,3}$/.test(full))
      throw new Error(`the bars are ${begun}, then ${full}`)
    shop.settle()
    await says(backpack, 'Pay')
    shop.settleAfter = 300
    standIn.bustling = true
  })
  await check('a busy shop is asked again with the same key: one order', async () => {
    const before = shop.orders.size
    shop.busyBuys = 2
    await button(lamp).click()
    await says(lamp, 'Pay')
    if (shop.orders.size !== before + 1) throw new Error(`${shop.orders.size - before} orders`)
  })
  await check('the limit is reached', async () => {
    await button(keyboard).click()
    await card(keyboard).getByText('Limit reached').waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, `${size}-state-limit`)
  })
  await check('an upcoming slot counts down on the button', async () => {
    await page.getByRole('navigation').getByText('Upcoming').or(page.locator('nav .upcoming')).first().click()
    await page
      .getByText(/Opens in \d/)
      .first()
      .waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, `${size}-state-upcoming`)
  })
  await check('a closed slot says so', async () => {
    await page.locator('nav .closed').first().click()
    await page.getByText('Closed at').waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, `${size}-state-closed`)
    await expectAccessible(page)
    await page.locator('nav .open').click()
  })
  await check('a drained node is left and found again', async () => {
    standIn.drain(3_000)
    await page.locator('.banner').waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, `${size}-state-reconnect`)
    await expectAccessible(page)
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await page.locator('.banner').waitFor({ state: 'detached', timeout: PATIENCE_MS })
  })
  await check('an address is remembered and goes along', async () => {
    await page.locator('.address').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Li Lei')
    await page.getByRole('textbox', { name: 'Phone' }).fill('13800000000')
    await page.getByRole('textbox', { name: 'Address' }).fill('1 Long Street')
    await browser.shoot(page, `${size}-state-address`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await button(kettle).click()
    await says(kettle, 'Pay')
    const last = [...shop.orders.values()].at(-1)
    if (last.address?.name !== 'Li Lei') throw new Error('the order has no address')
  })
  await check('a notice appears', async () => {
    shop.tell(undefined, { ev: 'notice', level: 'info', text: 'More kettles at noon.' })
    await page.locator('.notices').getByText('More kettles at noon.').waitFor({ timeout: PATIENCE_MS })
  })
  await check('speaks Chinese and turns dark', async () => {
    await page.locator('.lang').click()
    await page.getByText('抢购中').first().waitFor({ timeout: PATIENCE_MS })
    await page.getByRole('button', { name: '切换到深色' }).click()
    await browser.shoot(page, `${size}-state-chinese`, { fullPage: true })
    await expectAccessible(page)
    await expectNoSideways(page)
  })
  await check('reports no errors in hard states', () => expectNoProblems(page))
  await page.context().close()
  if (size === 'desktop') await guestsOff(report, browser, standIn, base)
  else await emptyShop(report, browser, standIn, base)
  standIn.close()
}

/** In the page: throws when "−12", anywhere on its way up, lies over one of the numbers, or is cut off where it should be whole. */
function expectNothingCovered(numbers, whole) {
  const drop = numbers.querySelector('.drop')
  // From the beginning: on a busy machine it has ended before anybody looks.
  drop.style.animation = 'none'
  drop.getAnimations()
  drop.style.animation = ''
  const [flight] = drop.getAnimations()
  flight.pause()
  for (const at of [0, 200, 400, 600, 850]) {
    flight.currentTime = at
    const box = drop.getBoundingClientRect()
    const room = drop.parentElement.getBoundingClientRect()
    const right = getComputedStyle(drop.parentElement).overflowX === 'clip' ? room.right : Infinity
    if (whole && right < box.right) throw new Error(`cut off by ${box.right - right} px`)
    for (const text of numbers.querySelectorAll('p > :not(.room), .percent, .rate')) {
      if (text.contains(drop)) continue
      const { left, top, bottom } = text.getBoundingClientRect()
      const beside = Math.min(box.right, right) <= left || text.getBoundingClientRect().right <= box.left
      if (!beside && box.top < bottom && top < box.bottom) throw new Error(`covers ${text.textContent}`)
    }
  }
  flight.currentTime = 200
}

async function guestsOff(report, browser, standIn, base) {
  standIn.guests = false
  const page = await browser.open(base, 'desktop', 'dark')
  await report.check('without guests the page asks for a token and takes it', async () => {
    await page.getByLabel('Access token').fill('nonsense')
    await browser.shoot(page, 'desktop-state-guestsoff')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('This is not an access token.').waitFor({ timeout: PATIENCE_MS })
    await page.getByLabel('Access token').fill(tokenOf('1001'))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.locator('[data-sale] [data-does="buy"]').first().waitFor({ timeout: PATIENCE_MS })
  })
  standIn.guests = true
  await page.context().close()
}

async function emptyShop(report, browser, standIn, base) {
  const slots = standIn.shop.slots
  standIn.shop.slots = []
  const page = await browser.open(base, 'phone', 'dark')
  await report.check('an empty shop says so', async () => {
    await page.getByText('No sales today').waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, 'phone-state-empty')
    await expectAccessible(page)
  })
  standIn.shop.slots = slots
  await page.context().close()
}
