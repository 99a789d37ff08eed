import { buy, live, soon, takeShot } from './browser.mjs'
import { test } from './fixtures.mjs'

const storedUser = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('stampede.session')).user.id)

/** Two tabs of one browser share one guest, also if they open at the same time. */
for (const locks of [true, false])
  test(`tabs ${locks ? 'with' : 'without'} Web Locks`, async ({ open, busy: base }) => {
    const one = await open('about:blank')
    if (!locks) await one.context().addInitScript(() => delete Navigator.prototype.locks)
    const both = [one, await one.context().newPage()]
    await Promise.all(both.map((page) => page.goto(base)))

    await test.step('both tabs use the same guest, also after a reload', async () => {
      const users = await Promise.all(both.map(signedIn))
      if (users[0] !== users[1]) throw new Error(`the tabs use two guests: ${users.join(' and ')}`)
      await Promise.all(both.map((page) => page.reload()))
      const again = await Promise.all(both.map(signedIn))
      if (again.some((user) => user !== users[0]))
        throw new Error(`${users[0]} became ${again.join(' and ')}`)
    })
    await test.step('both tabs show an order of one tab', async () => {
      const id = await buy(one)
      for (const page of both) await soon(page.locator(`.rail [data-order="${id}"]`))
    })
  })

/** The displayed guest and the stored guest, once the page is connected. */
async function signedIn(page) {
  await live(page)
  return (await page.locator('.rail header p').innerText()) + (await storedUser(page))
}

/** The server rejects a guest's token: the shopper must agree before the page replaces the guest. */
test('ended guest', async ({ open, quiet }) => {
  const page = await open('about:blank', { size: 'phone', theme: 'dark' })
  const notice = page.locator('.ended')
  let guestsMade = 0
  page.on('response', (response) => {
    if (response.url().endsWith('/auth/guest') && response.ok()) guestsMade++
  })
  await page.goto(quiet)

  await test.step('the shopper is notified, and the guest stays the same until a click', async () => {
    await live(page)
    await page.waitForFunction(() => localStorage.getItem('stampede.session'))
    const before = await storedUser(page)
    // As after a rotation of the signing key.
    await page.evaluate(() => {
      const stored = localStorage.getItem('stampede.session')
      localStorage.setItem('stampede.session', stored.replace(/("access":"[^"]*\.)[^".]*"/, '$1invalid"'))
    })
    await page.reload()
    await soon(notice)
    await live(page)
    await soon(page.locator('[data-stock]').first())
    await takeShot(page, 'ended-guest')
    await page.reload()
    await soon(notice)
    if ((await storedUser(page)) !== before) throw new Error('the guest was replaced without a click')
    if (guestsMade !== 1) throw new Error(`${guestsMade} guests were created, want 1`)
  })
  await test.step('after a click the shopper continues as a new guest and can buy', async () => {
    const before = await storedUser(page)
    await notice.getByRole('button').click()
    await soon(notice, 'detached')
    await soon(page.locator('[data-action="buy"]').first())
    if ((await storedUser(page)) === before) throw new Error('the page still uses the old guest')
  })
})
