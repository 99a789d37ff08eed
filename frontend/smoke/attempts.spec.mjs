import { expectAccessible, live, soon, takeShot, until } from './browser.mjs'
import { test } from './fixtures.mjs'

/**
 * Every buy attempt ends with a message that stays until the shopper dismisses it. This includes bad connections and
 * the end of a slot.
 */
test('attempts', async ({ open, standIn }) => {
  const { base, shop } = standIn
  const page = await open(base)
  const buy = () => page.locator('[data-sale] .button').filter({ hasText: 'Buy' }).first()
  const notice = (text) => page.locator('li').filter({ hasText: text })
  const read = async (notices) => {
    await soon(notices)
    await notices.getByRole('button').click()
    await soon(notices, 'detached')
  }
  const clickBuy = async () => {
    await soon(buy())
    const sale = await buy().evaluate((button) => button.closest('[data-sale]').dataset.sale)
    standIn.received.length = 0
    await buy().click()
    return sale
  }
  const expectOneKey = (min) => {
    const keys = standIn.received.filter(({ op }) => op === 'buy').map(({ key }) => key)
    if (keys.length < min) throw new Error(`${keys.length} buy requests, want at least ${min}`)
    if (new Set(keys).size !== 1) throw new Error(`${new Set(keys).size} keys for one attempt`)
  }

  await test.step('a buy with an unreadable reply is repeated with the same key and creates one order', async () => {
    const before = shop.orders.size
    standIn.tornBuys = 2
    const sale = await clickBuy()
    await soon(page.locator(`[data-sale="${sale}"]`).getByText(/Pay/).first())
    if (shop.orders.size !== before + 1)
      throw new Error(`got ${shop.orders.size - before} new orders, want 1`)
    expectOneKey(2)
    await read(notice(/succeeded/))
  })
  await test.step('an order state of a later version is shown, and the connection stays open', async () => {
    standIn.missed = [...shop.orders.values()].slice(-1)
    const hellos = () => standIn.received.filter(({ op }) => op === 'hello').length
    const before = hellos()
    standIn.drain(300)
    await until(() => hellos() > before)
    await live(page)
    const afterReconnect = hellos()
    await soon(page.locator('[data-state="unknown"]'))
    await page.waitForTimeout(1_500)
    if (hellos() !== afterReconnect) throw new Error('the page reconnected repeatedly')
    standIn.missed = []
  })
  await test.step('the outcome of a buy on a stalled connection at the end of a slot is shown later', async () => {
    await soon(buy())
    shop.endCurrentIn(10_000) // on a busy machine a click takes seconds
    shop.publishSlots()
    const ends = shop.current().closes_at
    standIn.stall()
    await clickBuy()
    await until(() => Date.now() > ends + 1_000)
    standIn.resume(true)
    const notices = notice(/failed|succeeded/).or(page.locator('.refusal'))
    await soon(notices.first())
    await takeShot(page, 'press-told')
    await expectAccessible(page)
    expectOneKey(1)
  })
  await test.step('the message remains after a reload until the shopper dismisses it', async () => {
    await page.reload()
    const notices = notice(/failed/)
    await read(notices)
    await page.reload()
    await soon(page.locator('[data-sale]').first())
    if (await notices.isVisible()) throw new Error('the dismissed message is shown again')
  })
  await test.step('a buy whose reply was lost by a reload is found with its key', async () => {
    const before = shop.orders.size
    standIn.lostBuys = 1
    await clickBuy()
    await until(() => shop.orders.size > before)
    await page.reload()
    await soon(notice(/succeeded/))
    // The hello may contain the reservation with its key, so a second buy must not happen.
    expectOneKey(1)
    if (shop.orders.size !== before + 1)
      throw new Error(`got ${shop.orders.size - before} new orders, want 1`)
    await takeShot(page, 'press-found')
  })
})
