import { PATIENCE_MS } from './browser.mjs'
import { StandIn } from './standin/server.mjs'

/** The longest wait for a slot to open. */
const OPENING_MS = 120_000

/** Two tabs of one browser are one guest, whatever happens at once: the parts. Work against any server. */
export function tabs(report, browser, base) {
  return [true, false].map((locks) => () => twoTabs(report, browser, base, locks))
}

async function twoTabs(report, browser, base, locks) {
  const name = locks ? 'tabs' : 'tabs without Web Locks'
  const check = (what, run) => report.check(`${name}: ${what}`, run)
  const [one, two] = await openTwo(browser, base, locks)

  await check('opened at once are one guest, also after a reload', async () => {
    const users = await Promise.all([one, two].map(signedIn))
    if (users[0] !== users[1]) throw new Error(`two guests: ${users.join(' and ')}`)
    await Promise.all([one.reload(), two.reload()])
    const again = await Promise.all([one, two].map(signedIn))
    if (again.some((user) => user !== users[0])) throw new Error(`${users[0]} became ${again.join(' and ')}`)
  })
  await check('both show what one of them bought', async () => {
    const order = one.locator('.rail [data-order]').first()
    await pressBuy(one, order)
    const id = await order.getAttribute('data-order')
    await two.locator(`.rail [data-order="${id}"]`).waitFor({ timeout: PATIENCE_MS })
  })
  await one.context().close()
}

/** Two tabs of a fresh browser that begin in the same moment. */
async function openTwo(browser, base, locks) {
  const first = await browser.open('about:blank', 'desktop', 'light')
  const context = first.context()
  if (!locks) await context.addInitScript(() => delete Navigator.prototype.locks)
  const both = [first, await context.newPage()]
  await Promise.all(both.map((page) => page.goto(base)))
  return both
}

/** Presses Buy until the order shows: somebody else may take the last unit first. */
async function pressBuy(page, order) {
  for (let presses = 1; ; presses++) {
    await page.locator('[data-sale] .button').filter({ hasText: 'Buy' }).last().click({ timeout: OPENING_MS })
    try {
      return await order.waitFor({ timeout: PATIENCE_MS / 2 })
    } catch (error) {
      if (presses === 3) throw error
    }
  }
}

/** The guest whom the page shows, once it is signed in, and the one that this browser has stored. */
async function signedIn(page) {
  await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
  const you = page.locator('.rail header p')
  await you.waitFor({ timeout: PATIENCE_MS })
  return page.evaluate(
    () =>
      JSON.parse(localStorage.getItem('stampede.session')).user.id +
      document.querySelector('.rail header p').innerText,
  )
}

/** A guest whose token has ended hears so before anything is replaced: the parts. */
export function endedGuest(report, browser) {
  return [
    () => guestEnds(report, browser, 'desktop', 'light'),
    () => guestEnds(report, browser, 'phone', 'dark'),
  ]
}

async function guestEnds(report, browser, size, theme) {
  const standIn = new StandIn()
  const base = await standIn.start()
  const page = await browser.open(base, size, theme)
  const check = (what, run) => report.check(`ended guest, ${size}: ${what}`, run)
  const user = () => page.evaluate(() => JSON.parse(localStorage.getItem('stampede.session')).user.id)
  const told = page.locator('.ended')

  await check('is told, and stays who they are until they agree', async () => {
    await page.locator('[data-sale]').first().waitFor({ timeout: PATIENCE_MS })
    await page.waitForFunction(() => localStorage.getItem('stampede.session'))
    const before = await user()
    standIn.endTokens()
    await page.reload()
    await told.waitFor({ timeout: PATIENCE_MS })
    await page.locator('.live.on').waitFor({ timeout: PATIENCE_MS })
    await page.locator('[data-stock]').first().waitFor({ timeout: PATIENCE_MS })
    await browser.shoot(page, `${size}-${theme}-ended`)
    await page.reload()
    await told.waitFor({ timeout: PATIENCE_MS })
    if ((await user()) !== before) throw new Error('another guest took its place unasked')
    if (standIn.guestsMade !== 1) throw new Error(`${standIn.guestsMade} guests were made`)
  })
  await check('goes on as a new guest after a press, and can buy', async () => {
    const before = await user()
    await told.getByRole('button').click()
    await told.waitFor({ state: 'detached', timeout: PATIENCE_MS })
    await page
      .locator('[data-sale] .button')
      .filter({ hasText: 'Buy' })
      .first()
      .waitFor({ timeout: PATIENCE_MS })
    if ((await user()) === before) throw new Error('still the old guest')
  })
  await page.context().close()
  standIn.close()
}
