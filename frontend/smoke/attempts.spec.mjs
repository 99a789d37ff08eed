import { expectAccessible, live, soon, takeShot, until } from './browser.mjs'
import { test } from './fixtures.mjs'

/**
 * Every buy attempt ends with a message that stays until the shopper dismisses it. This includes bad connections and
 * the end of a slot.
 */
test('attempts', async ({ open, quiet }) => {
  const page = await open('about:blank', { relayed: true })
  const { relay } = page
  /** The orders of the shopper, by order events. */
  const orders = new Map()
  /** If true, order events do not reach the page. */
  let areHeld = false
  /** The order event that the next hello replies have in a state of a later protocol version. */
  let later
  let slot
  relay.edit((frame) => {
    if (frame.ev === 'order') orders.set(frame.order.id, frame)
    if (frame.ev === 'order' && areHeld) return undefined
    if (later && frame.ok?.missed) frame.ok.missed = [later]
    for (const period of [...(frame.ok?.slots ?? []), ...(frame.ok?.sales ?? [])])
      if (slot?.phase === 'closed' && [period.id, period.slot].includes(slot.id))
        Object.assign(period, end(slot))
    slot ??= frame.ok?.slots?.find(({ phase }) => phase === 'open')
    return frame
  })
  const end = ({ closes_at }) => ({ closes_at, phase: 'closed' })
  await page.goto(quiet)
  const buy = page.locator('[data-action="buy"][aria-disabled="false"]')
  const notice = (text) => page.locator('li').filter({ hasText: text })
  const sent = (op) => relay.received.filter((frame) => frame.op === op)
  const read = async (notices) => {
    await soon(notices)
    await notices.getByRole('button').click()
    await soon(notices, 'detached')
  }
  const clickBuy = async () => {
    await soon(buy.first())
    relay.received.length = 0
    const sale = await page.locator('[data-sale]').filter({ has: buy }).first().getAttribute('data-sale')
    const chosen = page.locator(`[data-sale="${sale}"]`)
    await chosen.locator(buy).click()
    return chosen.locator('[data-action="pay"]')
  }
  const expectOneKey = (min) => {
    const keys = sent('buy').map(({ key }) => key)
    if (keys.length < min) throw new Error(`${keys.length} buy requests, want at least ${min}`)
    if (new Set(keys).size !== 1) throw new Error(`${new Set(keys).size} keys for one attempt`)
  }
  const expectOneOrder = (before) => {
    if (orders.size !== before + 1) throw new Error(`got ${orders.size - before} new orders, want 1`)
  }

  await test.step('a buy with an unreadable reply is repeated with the same key and creates one order', async () => {
    relay.answer('buy', () => ({ ok: { order: null } }), { times: 2, performed: true })
    areHeld = true // an order event would end the attempt
    const pay = await clickBuy()
    await until(() => orders.size > 0 && sent('buy').length > 1)
    areHeld = false
    orders.forEach((event) => relay.send(event))
    await soon(pay)
    expectOneOrder(0)
    expectOneKey(2)
    await read(notice(/succeeded/))
  })
  await test.step('an order state of a later version is shown, and the connection stays open', async () => {
    const [event] = orders.values()
    later = { ...event, order: { ...event.order, rev: event.order.rev + 10, state: 'of a later version' } }
    await relay.drain(300)
    await soon(page.locator('[data-state="unknown"]'))
    await live(page)
    later = undefined
    await soon(await clickBuy())
    if (sent('hello').length > 0) throw new Error('the page reconnected repeatedly')
  })
  await test.step('the outcome of a buy on a stalled connection at the end of a slot is shown later', async () => {
    await soon(buy.first())
    relay.stall()
    await clickBuy()
    Object.assign(slot, end({ closes_at: Date.now() }))
    relay.send({ ...slot, ev: 'slot', slot: slot.id })
    await soon(page.getByRole('button', { name: 'Next slot' }))
    relay.answer('buy', () => ({ error: { code: 'closed', message: '' } }))
    await relay.resume(true)
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
    slot = undefined
    await page.reload()
    await soon(page.locator('[data-sale]').first())
    if (await notices.isVisible()) throw new Error('the dismissed message is shown again')
  })
  await test.step('a buy whose reply was lost by a reload is found with its key', async () => {
    const before = orders.size
    relay.answer('buy', () => undefined, { performed: true })
    await clickBuy()
    await until(() => orders.size > before)
    await page.reload()
    await soon(notice(/succeeded/))
    // The hello may contain the reservation with its key, so a second buy must not happen.
    expectOneKey(1)
    expectOneOrder(before)
    await takeShot(page, 'press-found')
  })
})
