import { ADDRESS, expectNoProblems, expectNoSideways, live, reviewPage, soon, takeShot } from './browser.mjs'
import { desktopDark, phoneDark, phoneLight, test } from './fixtures.mjs'
import { StagedShop } from './staged.mjs'

/** The time after an outcome in which the page ignores clicks, with a margin, in milliseconds. */
const GUARD_MS = 1_800

/**
 * The control under the finger must not change unexpectedly: at the end of a slot, with a double click, a message, or a
 * lost connection.
 */
async function touch(open, base, look) {
  const page = await open('about:blank', {
    ...look,
    motion: 'no-preference',
    address: ADDRESS,
    relayed: true,
  })
  const shop = new StagedShop(page.relay) // only the test changes the page
  await page.goto(base)
  const { size, theme } = look
  await soon(page.locator('[data-action="buy"][aria-disabled="false"]').first())
  const checkPage = (what) => reviewPage(page, `touch-${size}-${theme}-${what}`)
  /** The number of buys that the page has sent. */
  const buys = () => page.relay.received.filter(({ op }) => op === 'buy').length
  return { checkPage, page, pointer: new Pointer(page), shop, buys }
}

const reportsNoErrors = (page) => test.step('reports no errors', () => expectNoProblems(page))

/** A finger, and the layout shifts under it. */
class Pointer {
  constructor(page) {
    this.page = page
  }

  card(sale) {
    return this.page.locator(`[data-sale="${sale}"]`)
  }

  button(sale) {
    return this.card(sale).locator('[data-action]')
  }

  /** Records every layout shift from now on, expected or not. */
  async watchShifts() {
    await this.page.evaluate(() => {
      // Expected shifts: the order list grows, a button's centred text changes, and the elements beside the stock
      // number move when its number of digits changes.
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

  /** Scrolls an element to the middle of the window and puts the finger there. */
  async over(locator) {
    await locator.evaluate((element) => element.scrollIntoView({ block: 'center', behavior: 'instant' }))
    const { x, y, width, height } = await locator.boundingBox()
    this.at = { x: x + width / 2, y: y + height / 2 }
    await this.page.mouse.move(this.at.x, this.at.y)
    return this.under()
  }

  /** Describes the element under the finger. */
  under() {
    return this.page.evaluate(({ x, y }) => {
      const element = document.elementFromPoint(x, y)
      const { top, left } = element.getBoundingClientRect()
      return {
        sale: element.closest('[data-sale]')?.dataset.sale,
        action: element.closest('[data-action]')?.dataset.action,
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

/** Uses a fast double click on a phone and a slow double click on a desktop. */
for (const look of [phoneLight, desktopDark])
  test(`touch, end of a slot, ${look.size}`, async ({ open, quiet: base }) => {
    const { checkPage, page, pointer, shop, buys } = await touch(open, base, look)
    const slot = shop.current()
    const sale = shop.salesOf().at(-1)
    const ended = page.locator('.messages .ended')
    const next = ended.locator('button')
    let before
    await test.step('the end of a slot changes neither the card under the finger nor the focus', async () => {
      before = await pointer.over(pointer.button(sale.id))
      if (before.sale !== sale.id || before.action !== 'buy')
        throw new Error(
          `got ${JSON.stringify(before)} under the finger, want the Buy button of the sale ${sale.id}`,
        )
      await pointer.button(sale.id).focus()
      await pointer.watchShifts()
      shop.endCurrentIn(1_000)
      await soon(pointer.button(sale.id).filter({ hasText: 'Ended' }))
      await soon(ended)
      // A page that changes slots by the clock would show the next slot within a second.
      await page.waitForFunction((at) => Date.now() > at, slot.closes_at + 1_000)
      await pointer.expectUnder(before, 'sale', 'place')
      const focus = await page.evaluate(() => document.activeElement.closest('[data-sale]')?.dataset.sale)
      if (focus !== sale.id) throw new Error(`the focus is on ${focus}`)
      await pointer.expectNoShift()
      const { x, width } = await ended.boundingBox()
      const over = x + width - page.viewportSize().width
      if (over > 0) throw new Error(`the button to the next slot is ${over} px wider than the window`)
      await checkPage('ended')
    })
    await test.step('a click on the ended sale neither buys nor leaves the page', async () => {
      await page.mouse.click(pointer.at.x, pointer.at.y)
      await pointer.expectUnder(before, 'sale', 'place')
      if (buys() > 0) throw new Error(`got ${buys()} buys, want none`)
    })
    await test.step('a click opens the next slot, and a double click does not buy there', async () => {
      await ready(page)
      await next.click({ clickCount: look.size === 'phone' ? 2 : 1, delay: 20 })
      await soon(page.locator('nav [aria-current].open'))
      await soon(pointer.card(sale.id), 'detached')
      if (look.size !== 'phone') {
        // The second half of the double click arrives after the change.
        await soon(page.locator('nav [aria-disabled]').first(), 'detached')
        await page.mouse.down({ clickCount: 2 })
        await page.mouse.up({ clickCount: 2 })
        await soon(page.locator('nav [aria-current].open'))
      }
      await soon(page.locator('[data-action="buy"]').first())
      if (buys() > 0) throw new Error(`got ${buys()} buys, want none`)
      await expectNoSideways(page)
    })
    await test.step('the ended slot stays available and has a button to the next slot', async () => {
      await page.locator('nav .closed').last().click()
      await soon(pointer.card(sale.id))
      await soon(page.locator('.board .next'))
      await ready(page)
      await checkPage('ended-board')
      await page.locator('.board .next').press('Enter')
      await soon(page.locator('nav [aria-current].open'))
      const focus = await page.evaluate(() => document.activeElement.id)
      if (focus !== 'main') throw new Error(`the focus is on ${focus}`)
    })
    await reportsNoErrors(page)
  })

/** Waits until the button to the next slot is enabled, which is when that slot is loaded. */
const ready = (page) => page.waitForFunction(() => document.querySelector('.next')?.ariaDisabled === 'false')

/** Runs on a phone. */
test('touch, double click', async ({ open, quiet: base }) => {
  const { checkPage, page, pointer, shop, buys } = await touch(open, base, phoneLight)
  const sale = shop.salesOf().find(({ limit }) => limit === 2)
  shop.change(sale.id, { limit: 3 })
  const button = pointer.button(sale.id)
  const card = (selector) => pointer.card(sale.id).locator(selector)
  const double = () => page.mouse.click(pointer.at.x, pointer.at.y, { clickCount: 2, delay: 20 })
  const pays = () => page.locator('dialog[open]').count()

  await test.step('a double click creates one order, and the button becomes Pay', async () => {
    await pointer.over(button)
    await pointer.watchShifts()
    await button.evaluate(clickAsPay)
    await double()
    await soon(card('[data-action="pay"]'))
    if (buys() !== 1) throw new Error(`${buys()} buys`)
    if ((await pays()) > 0 || page.url() !== `${base}/`) throw new Error('the double click paid')
    const text = await button.innerText()
    if (!/^Pay · \d\d:\d\d/.test(text)) throw new Error(`the text of the button is ${text}`)
    await pointer.expectNoShift()
    await page.waitForFunction((el) => el.ariaDisabled === 'false', await button.elementHandle())
    await checkPage('pay')
  })
  await test.step('a separate button buys another unit, and a double click buys only one', async () => {
    await soon(card('.line button[aria-disabled="false"]'))
    const another = card('.line button')
    const { y } = await another.boundingBox()
    const main = await button.boundingBox()
    if (y + 20 > main.y) throw new Error('the button for another unit overlaps the main button')
    await pointer.over(another)
    await double()
    await soon(card('[data-action="pay"]'))
    await new Promise((resolve) => setTimeout(resolve, GUARD_MS))
    if (buys() !== 2) throw new Error(`${buys()} buys`)
  })
  await test.step('Pay opens the payment gateway', async () => {
    // The new order starts the guard against the second half of a double click again.
    await page.waitForFunction((el) => el.ariaDisabled === 'false', await button.elementHandle())
    await pointer.over(button)
    const { action } = await pointer.under()
    if (action !== 'pay') throw new Error(`the action of the button is ${action}, want pay`)
    await page.mouse.click(pointer.at.x, pointer.at.y)
    await page.waitForURL((url) => url.origin !== base)
  })
  await reportsNoErrors(page)
})

/**
 * Runs in the page. Clicks the button when it becomes Pay: the worst time for the second half of a slow double click.
 */
function clickAsPay(button) {
  const card = button.closest('[data-sale]')
  const observer = new MutationObserver(() => {
    const pay = card.querySelector('[data-action="pay"]')
    if (!pay) return
    observer.disconnect()
    pay.click()
  })
  observer.observe(card, { subtree: true, childList: true, attributes: true })
}

/**
 * Runs in the page. Records the texts of live regions in the topmost layer, because a later announcement replaces the
 * text.
 */
function recordAnnouncements() {
  globalThis.spoken = []
  const observer = new MutationObserver((records) => {
    const top = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
    const elements = records.map(({ target }) => (target instanceof Element ? target : target.parentElement))
    const regions = elements.map((element) => element?.closest('[aria-live="polite"]'))
    for (const region of new Set(regions))
      if (region && top.contains(region)) globalThis.spoken.push(region.textContent.trim())
  })
  observer.observe(document, { subtree: true, childList: true, characterData: true })
}

/** Runs on a phone, where messages and the settings are in dialogs. */
test('touch, dialogs', async ({ open, quiet: base }) => {
  const { checkPage, page, pointer, shop } = await touch(open, base, phoneDark)
  const dialog = page.locator('dialog[open]')
  const note = 'More kettles at noon.'
  /** The message must be the element at its own position, and the topmost layer must announce it. */
  const expectOnTop = async (text) => {
    const message = page.locator('.notices li').filter({ hasText: text })
    await soon(message)
    // It fades in.
    await page.waitForFunction((el) => getComputedStyle(el).opacity === '1', await message.elementHandle())
    const touched = await message.evaluate((element) => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return element.contains(document.elementFromPoint(x + width / 2, y + height / 2))
    })
    if (!touched) throw new Error('an element covers the message')
    // Elements below the topmost dialog are inert, also for screen readers.
    await page.waitForFunction((text) => globalThis.spoken.filter((said) => said === text).length === 1, text)
  }

  await page.evaluate(recordAnnouncements)
  await test.step('a message appears over the page without a layout shift', async () => {
    await pointer.watchShifts()
    shop.notify('Welcome.')
    await expectOnTop('Welcome.')
    await pointer.expectNoShift()
  })
  await test.step('a dialog shows the messages and receives new ones', async () => {
    await page.locator('.menu').click()
    await soon(dialog)
    await soon(dialog.locator('.notices li').filter({ hasText: 'Welcome.' }))
    shop.notify(note, 'warn')
    await expectOnTop(note)
    // A notification replaces the previous one.
    await soon(page.locator('.notices li').filter({ hasText: 'Welcome.' }), 'detached')
    await checkPage('dialog-message')
  })
  await test.step('a lost connection is shown in the dialog', async () => {
    await page.relay.drain(3_000)
    await soon(dialog.locator('.banner'))
    await takeShot(page, 'touch-dialog-banner')
    await soon(page.locator('.banner'), 'detached')
  })
  await test.step('the page shows the messages after the dialog closes', async () => {
    await page.keyboard.press('Escape')
    await soon(dialog, 'hidden')
    await soon(page.locator('.notices li').filter({ hasText: note }))
    shop.notify('Soon.')
    await expectOnTop('Soon.')
    await page.locator('.notices button').first().click()
    await soon(page.locator('.notices li').first(), 'detached')
  })
  await test.step('a warning about an earlier click is shown in front of a dialog', async () => {
    const busy = { error: { code: 'busy', message: 'busy', retry_ms: 300 } }
    page.relay.answer('pay', () => busy, { times: Infinity })
    await page.locator('[data-action="buy"]').first().click()
    await page.locator('[data-action="pay"][aria-disabled="false"]').click()
    await page.locator('.menu').click()
    await soon(dialog)
    await expectOnTop('The shop is very busy. Please try again in a moment.')
    await takeShot(page, 'touch-dialog-warning')
  })
  await reportsNoErrors(page)
})

test('touch, banner', async ({ open, quiet: base }) => {
  const { checkPage, page, pointer } = await touch(open, base, desktopDark)
  const lost = page.locator('.banner')
  await test.step('the banner of a lost connection appears and disappears without a layout shift', async () => {
    await pointer.watchShifts()
    const place = () => page.locator('#main').evaluate((main) => main.getBoundingClientRect().top)
    const before = await place()
    await page.relay.drain(3_000)
    await soon(lost)
    if ((await place()) !== before) throw new Error(`the page moved by ${(await place()) - before} px`)
    await checkPage('banner')
    await soon(lost, 'detached')
    await live(page)
    await pointer.expectNoShift()
  })
  await reportsNoErrors(page)
})
