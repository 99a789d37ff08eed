import { live, soon } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'

test.use({ serviceWorkers: 'allow' })

/** A reload without a network shows the shell of the shop, and the page is live again with the network. */
for (const look of [phoneDark, desktopLight])
  test(`offline, ${look.size}`, async ({ open, busy: base }) => {
    const page = await open(base, look)
    const banner = page.locator('.banner')

    await test.step('the service worker is installed and controls the page', async () => {
      await live(page)
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    })
    for (const path of ['/', '/orders'])
      await test.step(`a reload of ${path} shows the shop and the offline notice`, async () => {
        await page.goto(new URL(path, base).href)
        await live(page)
        await page.context().setOffline(true)
        await page.reload()
        await soon(page.locator('header h1'))
        await soon(banner.getByText('You are offline'))
        await page.context().setOffline(false)
        await live(page)
        await soon(banner, 'detached')
      })
    await test.step('the console and the documentation have no offline form', async () => {
      await page.context().setOffline(true)
      for (const path of ['/console', '/docs']) {
        const failed = await page.goto(new URL(path, base).href).catch((error) => error)
        if (!/ERR_INTERNET_DISCONNECTED/.test(String(failed))) throw new Error(`${path}: ${failed}`)
      }
    })
  })
