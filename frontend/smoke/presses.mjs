import { PATIENCE_MS, expectAccessible, until } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** Every press of Buy ends in words that stay until they are read, whatever the line and the clock do: the parts. */
export function presses(report, browser) {
  return [() => pressed(report, browser, 'desktop', 'light'), () => pressed(report, browser, 'phone', 'dark')]
}

async function pressed(report, browser, size, theme) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const { shop } = standIn
  const page = await browser.open(base, size, theme)
  const check = (what, run) => report.check(`presses, ${size}: ${what}`, run)
  const buy = () => page.locator('[data-sale] .button').filter({ hasText: 'Buy' }).first()
  const notice = (text) => page.locator('li').filter({ hasText: text })
  const soon = (locator, state = 'visible') => locator.waitFor({ state, timeout: PATIENCE_MS })
  const read = async (told) => {
    await soon(told)
    await told.getByRole('button').click()
    await soon(told, 'detached')
  }
  const press = async () => {
    await soon(buy())
    const sale = await buy().evaluate((button) => button.closest('[data-sale]').dataset.sale)
    standIn.received.length = 0
    await buy().click()
    return sale
  }
  const oneKey = (least) => {
    const keys = standIn.received.filter(({ op }) => op === 'buy').map(({ key }) => key)
    if (keys.length < least) throw new Error(`asked ${keys.length} times`)
    if (new Set(keys).size !== 1) throw new Error(`${new Set(keys).size} keys for one press`)
  }

  await check('an answer that cannot be read is asked for again with the same key: one order', async () => {
    const before = shop.orders.size
    standIn.tornBuys = 2
    const sale = await press()
    await soon(page.locator(`[data-sale="${sale}"]`).getByText(/Pay/).first())
    if (shop.orders.size !== before + 1) throw new Error(`${shop.orders.size - before} orders`)
    oneKey(2)
    await read(notice(/went through/))
  })
  await check('a state of a later version among the missed events is shown, and the line stays', async () => {
    standIn.missed = [...shop.orders.values()].slice(-1)
    const hellos = () => standIn.received.filter(({ op }) => op === 'hello').length
    standIn.drain(300)
    await page.locator('.live.on').waitFor({ state: 'detached', timeout: PATIENCE_MS })
    await soon(page.locator('.live.on'))
    const then = hellos()
    if (size === 'desktop') await soon(page.locator('[data-state="unknown"]'))
    await page.waitForTimeout(1_500)
    if (hellos() !== then) throw new Error('it connected again and again')
    standIn.missed = []
  })
  await check(
    'pressed on a line that stands still, and the slot ends: told after the reconnect',
    async () => {
      await soon(buy())
      shop.endCurrentIn(3_000)
      shop.tellSlots()
      const ends = shop.current().closes_at
      standIn.stall()
      await press()
      await until(() => Date.now() > ends + 1_000)
      standIn.resume(true)
      const told = notice(/did not go through|went through/).or(page.locator('.refusal'))
      await soon(told.first())
      await browser.shoot(page, `${size}-${theme}-press-told`)
      await expectAccessible(page)
      oneKey(1)
    },
  )
  await check('its words are still there after a reload, until they are read', async () => {
    await page.reload()
    const told = notice(/did not go through/)
    await read(told)
    await page.reload()
    await soon(page.locator('[data-sale]').first())
    if (await told.isVisible()) throw new Error('it was told again')
  })
  await check('carried out, but the answer was lost with the page: found out with its key', async () => {
    const before = shop.orders.size
    standIn.lostBuys = 1
    await press()
    await page.waitForTimeout(300)
    await page.reload()
    await soon(notice(/went through/))
    // A hello that still lists the reservation with its key answers, too.
    oneKey(1)
    if (shop.orders.size !== before + 1) throw new Error(`${shop.orders.size - before} orders`)
    await browser.shoot(page, `${size}-${theme}-press-found`)
  })
  await page.context().close()
  standIn.close()
}
