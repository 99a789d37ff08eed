import { PATIENCE_MS, expectAccessible, expectNoProblems, expectNoSideways } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** The pause between the clicks of a slow double click. */
const DOUBLE_CLICK_MS = 180
/** So long after an outcome a press is not a new one, with a margin. */
const CALM_MS = 1_800

/**
 * What is under the finger stays what it was, over the end of a slot, a double click, a message, a lost connection: the
 * parts.
 */
export function touch(report, browser) {
  return [slotChange, dialogs, doubleClick, banner].flatMap((part) => [
    () => touched(report, browser, part, 'phone', 'light'),
    () => touched(report, browser, part, 'desktop', 'dark'),
  ])
}

async function touched(report, browser, part, size, theme) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const page = await browser.open(base, size, theme, 'no-preference') // what moves here, moves for everybody
  const hand = new Hand(page)
  const check = (what, run) => report.check(`touch, ${size} ${theme}: ${what}`, run)
  const shoot = (what) => browser.shoot(page, `touch-${size}-${theme}-${what}`)
  await check('the page is there', () =>
    // Not before presses count.
    page.locator('[data-does="buy"][aria-disabled="false"]').first().waitFor({ timeout: PATIENCE_MS }),
  )
  // Only what the test does changes the page.
  standIn.bustling = false
  await part({ check, shoot, page, hand, standIn, shop: standIn.shop, size })
  await check('reports no errors', () => expectNoProblems(page))
  await page.context().close()
  standIn.close()
}

/** Where the finger is, and what moves there. */
class Hand {
  constructor(page) {
    this.page = page
  }

  card(sale) {
    return this.page.locator(`[data-sale="${sale}"]`)
  }

  button(sale) {
    return this.card(sale).locator('[data-does]')
  }

  /** Every move of anything on the page from now on, pressed for or not. */
  async watchShifts() {
    await this.page.evaluate(() => {
      // The list of orders makes room for a new one; other words begin elsewhere in the middle of a button, and what
      // stands beside the number of units left begins elsewhere when that has another digit: what is unpaid, and the
      // empty room between the two.
      const besideNumber = '.held, .stock .room'
      const expected = (node) =>
        node.matches?.(besideNumber) ||
        node.parentElement?.closest(
          node.nodeType === Node.TEXT_NODE ? `.rail, button, ${besideNumber}` : `.rail, ${besideNumber}`,
        )
      globalThis.shifts = []
      globalThis.shiftObserver?.disconnect()
      globalThis.shiftObserver = new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) {
          const nodes = sources.map(({ node }) => node).filter((node) => node && !expected(node))
          const what = nodes.map((node) => node.className || node.textContent).join(' ')
          if (nodes.length > 0) globalThis.shifts.push({ value, what })
        }
      })
      globalThis.shiftObserver.observe({ type: 'layout-shift' })
    })
  }

  async expectNoShift() {
    const shifts = await this.page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(globalThis.shifts)))),
    )
    const sum = shifts.reduce((total, { value }) => total + value, 0)
    if (sum > 0) throw new Error(`moved by ${sum}: ${shifts.map(({ what }) => what).join(', ')}`)
  }

  /** Scrolls the Buy button of the last sale that can be bought to the middle and puts the finger there. */
  async over(locator) {
    await locator.evaluate((element) => element.scrollIntoView({ block: 'center', behavior: 'instant' }))
    const { x, y, width, height } = await locator.boundingBox()
    this.at = { x: x + width / 2, y: y + height / 2 }
    await this.page.mouse.move(this.at.x, this.at.y)
    return this.under()
  }

  /** What is under the finger now. */
  under() {
    return this.page.evaluate(({ x, y }) => {
      const element = document.elementFromPoint(x, y)
      const { top, left } = element.getBoundingClientRect()
      return {
        sale: element.closest('[data-sale]')?.dataset.sale,
        does: element.closest('[data-does]')?.dataset.does,
        place: `${Math.round(left)} ${Math.round(top)}`,
      }
    }, this.at)
  }

  async expectUnder(before, ...what) {
    const now = await this.under()
    for (const key of what) {
      if (now[key] !== before[key]) throw new Error(`${key} was ${before[key]}, is ${now[key]}`)
    }
  }
}

async function slotChange({ check, shoot, page, hand, shop, size }) {
  const slot = shop.current()
  const sale = [...shop.sales.values()].findLast((s) => s.slot === slot.id)
  const ended = page.locator('.messages .ended')
  const next = ended.locator('button')
  let before
  await check('a slot that ends leaves what is under the finger and under the focus', async () => {
    before = await hand.over(hand.button(sale.id))
    if (before.sale !== sale.id || before.does !== 'buy') throw new Error(JSON.stringify(before))
    await hand.button(sale.id).focus()
    await hand.watchShifts()
    shop.endCurrentIn(2_000)
    shop.tellSlots()
    for (const { id } of [...shop.sales.values()].filter((s) => s.slot === slot.id)) shop.change(id, {})
    await hand.button(sale.id).filter({ hasText: 'Ended' }).waitFor({ timeout: PATIENCE_MS })
    await ended.waitFor({ timeout: PATIENCE_MS })
    // A second in which a page that follows the clock shows the next slot.
    await page.waitForFunction((at) => Date.now() > at, slot.closes_at + 1_000)
    await hand.expectUnder(before, 'sale', 'place')
    const focus = await page.evaluate(() => document.activeElement.closest('[data-sale]')?.dataset.sale)
    if (focus !== sale.id) throw new Error(`the focus is on ${focus}`)
    await hand.expectNoShift()
    const { x, width } = await ended.boundingBox()
    const over = x + width - page.viewportSize().width
    if (over > 0) throw new Error(`the way on is ${over} px wider than the window`)
    await shoot('ended')
    await expectAccessible(page)
  })
  await check('a press then buys nothing and goes nowhere', async () => {
    await page.mouse.click(hand.at.x, hand.at.y)
    await hand.expectUnder(before, 'sale', 'place')
    if (shop.orders.size > 0) throw new Error(`${shop.orders.size} orders`)
  })
  await check('goes on to the next slot when told to, and a double click buys nothing there', async () => {
    await ready(page)
    await next.click({ timeout: PATIENCE_MS, clickCount: size === 'phone' ? 2 : 1, delay: 20 })
    await page.locator('nav [aria-current].open').waitFor({ timeout: PATIENCE_MS })
    await hand.card(sale.id).waitFor({ state: 'detached', timeout: PATIENCE_MS })
    if (size !== 'phone') {
      // The second half, as late as it comes on a machine that has much else to do.
      await page.locator('nav [aria-disabled]').first().waitFor({ state: 'detached', timeout: PATIENCE_MS })
      await page.mouse.down({ clickCount: 2 })
      await page.mouse.up({ clickCount: 2 })
      await page.locator('nav [aria-current].open').waitFor({ timeout: CALM_MS })
    }
    await page.locator('[data-does="buy"]').first().waitFor({ timeout: PATIENCE_MS })
    if (shop.orders.size > 0) throw new Error(`${shop.orders.size} orders`)
    await expectNoSideways(page)
  })
  await check('the slot that ended is still there, and shows the way on', async () => {
    await page.locator('nav .closed').last().click()
    await hand.card(sale.id).waitFor({ timeout: PATIENCE_MS })
    await page.locator('.board .next').waitFor({ timeout: PATIENCE_MS })
    await ready(page)
    await shoot('ended-board')
    await expectAccessible(page)
    await page.locator('.board .next').press('Enter')
    await page.locator('nav [aria-current].open').waitFor({ timeout: PATIENCE_MS })
    const focus = await page.evaluate(() => document.activeElement.id)
    if (focus !== 'sales') throw new Error(`the focus is on ${focus}`)
  })
}

/** Waits until the way on to the next slot can be gone: until that slot is known, a press says so and does nothing. */
const ready = (page) => page.waitForFunction(() => document.querySelector('.next')?.ariaDisabled === 'false')

async function doubleClick({ check, shoot, page, hand, shop, size }) {
  shop.settleAfter = 60
  const sale = [...shop.sales.values()].find((s) => s.slot === shop.current().id && s.limit === 3)
  const button = hand.button(sale.id)
  const buys = () => shop.orders.size
  const double = async () => {
    await page.mouse.click(hand.at.x, hand.at.y)
    await new Promise((resolve) => setTimeout(resolve, DOUBLE_CLICK_MS))
    await page.mouse.click(hand.at.x, hand.at.y)
  }
  const pays = () => page.locator('dialog[open]').count()

  await check('a double click makes one order, and the button becomes Pay', async () => {
    await hand.over(button)
    await hand.watchShifts()
    await double()
    await card('[data-does="pay"]').waitFor({ timeout: PATIENCE_MS })
    if (buys() !== 1) throw new Error(`${buys()} orders`)
    if ((await pays()) > 0 || !page.url().startsWith('http://127.0.0.1'))
      throw new Error('the double click paid')
    const text = await button.innerText()
    if (!/^Pay · \d\d:\d\d/.test(text)) throw new Error(`the button says ${text}`)
    await hand.expectNoShift()
    await page.waitForFunction((el) => el.ariaDisabled === 'false', await button.elementHandle())
    await shoot('pay')
    await expectAccessible(page)
    await expectNoSideways(page)
  })
  await check('another unit has a control of its own, and takes one double click too', async () => {
    await card('.line button[aria-disabled="false"]').waitFor({ timeout: PATIENCE_MS })
    const another = card('.line button')
    const { y } = await another.boundingBox()
    const main = await button.boundingBox()
    if (y + 20 > main.y) throw new Error('it lies on the main button')
    await hand.over(another)
    await double()
    await card('[data-does="pay"]').waitFor({ timeout: PATIENCE_MS })
    await new Promise((resolve) => setTimeout(resolve, CALM_MS))
    if (buys() !== 2) throw new Error(`${buys()} orders`)
  })
  await check('Pay pays', async () => {
    await hand.over(button)
    const { does } = await hand.under()
    if (does !== 'pay') throw new Error(`the button does ${does}`)
    if (size === 'desktop') await page.mouse.click(hand.at.x, hand.at.y)
    if (size === 'desktop')
      await page.getByRole('dialog', { name: /^Pay for/ }).waitFor({ timeout: PATIENCE_MS })
    else {
      await page.route('https://pay.example/**', (route) => route.fulfill({ body: 'the gateway' }))
      await page.mouse.click(hand.at.x, hand.at.y)
      await page.waitForURL(/pay\.example/, { timeout: PATIENCE_MS })
    }
  })

  function card(selector) {
    return hand.card(sale.id).locator(selector)
  }
}

async function dialogs({ check, shoot, page, hand, standIn, shop, size }) {
  const dialog = page.locator('dialog[open]')
  const note = 'More kettles at noon.'
  /** The message is what a finger at its place would touch, in the topmost layer, and it is read out there. */
  const expectOnTop = async (text) => {
    const message = page.locator('.notices li').filter({ hasText: text })
    await message.waitFor({ timeout: PATIENCE_MS })
    // It fades in.
    await page.waitForFunction((el) => getComputedStyle(el).opacity === '1', await message.elementHandle())
    const touched = await message.evaluate((element) => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return element.contains(document.elementFromPoint(x + width / 2, y + height / 2))
    })
    if (!touched) throw new Error('something lies over the message')
    // What is not in the topmost dialog is inert while it is open, for the eye and for screen readers.
    const heard = await page.locator('[aria-live="polite"]').evaluateAll((regions, text) => {
      const top = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
      return regions.filter((r) => top.contains(r) && r.textContent.trim() === text).length
    }, text)
    if (heard !== 1) throw new Error(`${heard} live regions of the topmost layer say it`)
  }

  await check('a message appears over the page and moves nothing', async () => {
    await hand.watchShifts()
    shop.tell(undefined, { ev: 'notice', level: 'info', text: 'Welcome.' })
    await expectOnTop('Welcome.')
    await hand.expectNoShift()
  })
  await check('a dialog brings the messages along and hears new ones', async () => {
    await page.locator(size === 'phone' ? '.bag' : '.address').click()
    await dialog.waitFor({ timeout: PATIENCE_MS })
    await dialog.locator('.notices li').filter({ hasText: 'Welcome.' }).waitFor({ timeout: PATIENCE_MS })
    shop.tell(undefined, { ev: 'notice', level: 'warn', text: note })
    await expectOnTop(note)
    // The newest of the shop stands in place of the one before.
    await page.locator('.notices li').filter({ hasText: 'Welcome.' }).waitFor({ state: 'detached' })
    await shoot('dialog-message')
    await expectAccessible(page)
  })
  await check('a lost connection is told in the dialog', async () => {
    standIn.drain(1_500)
    await dialog.locator('.banner').waitFor({ timeout: PATIENCE_MS })
    await shoot('dialog-banner')
    await page.locator('.banner').waitFor({ state: 'detached', timeout: PATIENCE_MS })
  })
  await check('when it closes the page has them', async () => {
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden', timeout: PATIENCE_MS })
    await page.locator('.notices li').filter({ hasText: note }).waitFor({ timeout: PATIENCE_MS })
    shop.tell(undefined, { ev: 'notice', level: 'info', text: 'Soon.' })
    await expectOnTop('Soon.')
    await page.locator('.notices button').first().click()
    await page.locator('.notices li').first().waitFor({ state: 'detached' })
  })
  await check('the warning of a press in a dialog is in front of it', async () => {
    shop.gatewayAway = true
    await page.locator('[data-does="buy"]').first().click({ timeout: PATIENCE_MS })
    await page.locator('[data-does="pay"][aria-disabled="false"]').waitFor({ timeout: PATIENCE_MS })
    if (size === 'phone') await page.locator('.bag').click()
    else await page.locator('.address').click()
    if (size === 'desktop') return
    await dialog.locator('.pay').click({ timeout: PATIENCE_MS })
    await expectOnTop('The shop is very busy. Please try again in a moment.')
    await shoot('dialog-warning')
  })
}

async function banner({ check, shoot, page, hand, standIn }) {
  const lost = page.locator('.banner')
  await check('the banner of a lost connection moves nothing, when it comes and when it goes', async () => {
    await hand.watchShifts()
    const place = () => page.locator('#sales').evaluate((main) => main.getBoundingClientRect().top)
    const before = await place()
    standIn.drain(2_000)
    await lost.waitFor({ timeout: PATIENCE_MS })
    if ((await place()) !== before) throw new Error(`the page moved by ${(await place()) - before} px`)
    await shoot('banner')
    await expectAccessible(page)
    await expectNoSideways(page)
    await lost.waitFor({ state: 'detached', timeout: PATIENCE_MS })
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await hand.expectNoShift()
  })
}
