import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { live, soon, toShop } from './browser.mjs'
import { test } from './fixtures.mjs'
import { stampede } from './program.mjs'

/** Each width once; both themes and both languages. */
const LOOKS = [
  { width: 320, height: 640, size: 'phone', theme: 'light', lang: 'zh' },
  { width: 390, height: 844, size: 'phone', theme: 'dark', lang: 'en' },
  { width: 768, height: 1024, size: 'desktop', theme: 'light', lang: 'en' },
  { width: 1440, height: 900, size: 'desktop', theme: 'dark', lang: 'zh' },
]
const [EMAIL, PASSWORD] = ['sheets@shop.example', 'a sentence that nobody guesses']
/** The height of a screenshot on a sheet, in pixels. */
const HEIGHT = 860

/** Writes a contact sheet per page of the shop to SMOKE_SHEETS: all looks beside each other, for review by people. */
test('contact sheets', async ({ open, busy, busyData }) => {
  const folder = process.env.SMOKE_SHEETS
  await stampede(busyData, ['user', 'add', EMAIL, '--role', 'shopper', '--password'], PASSWORD)
  await mkdir(folder, { recursive: true })
  const sheets = new Map()
  for (const look of LOOKS) {
    for (const [name, picture] of await visit(open, busy, look))
      sheets.set(name, [...(sheets.get(name) ?? []), picture])
  }
  for (const [name, pictures] of sheets) await draw(open, pictures, join(folder, `${name}.png`))
  console.log(`${sheets.size} contact sheets are in ${folder}`)
})

/** Visits the pages as a new guest. Returns their screenshots by name. */
async function visit(open, base, { width, height, ...look }) {
  const page = await open(base, { ...look, viewport: { width, height } })
  const shots = new Map()
  const dialog = page.locator('dialog[open]')
  const take = async (name, options = {}) =>
    shots.set(name, await page.screenshot({ animations: 'disabled', ...options }))
  const settings = async () => {
    const menu = page.locator('.menu')
    if (await menu.isVisible()) await menu.click()
  }
  const close = async () => {
    while (await dialog.count()) await page.keyboard.press('Escape')
  }
  const orders = async () => {
    const bag = page.locator('.bag')
    if (await bag.isVisible()) await bag.click()
  }

  await live(page)
  await soon(page.locator('[data-action="buy"]').first())
  await soon(page.locator('footer'))
  await take('shop')
  await page.locator('footer').scrollIntoViewIfNeeded()
  await take('footer')
  await page.locator('footer button').first().click()
  await soon(dialog)
  await take('text')
  await close()
  await page.locator('[data-sale] h3 a').first().click()
  await soon(page.locator('[data-details] .markup'))
  await take('details')
  await toShop(page)
  await settings()
  await take('settings')
  await close()
  await page.locator('.account').click()
  await soon(dialog.locator('[name=email]'))
  await take('login')
  await dialog.locator('[type=submit]').click()
  await soon(dialog.locator('[aria-invalid=true]').first())
  await take('login-errors')
  await close()

  await page.locator('[data-sale] [data-action="buy"][aria-disabled="false"]').first().click()
  const pay = page.locator('[data-sale] [data-action="pay"][aria-disabled="false"]').first()
  await soon(pay)
  await take('bought')
  await pay.click()
  await soon(dialog.locator('[name=text]'))
  await take('delivery')
  for (const [field, text] of Object.entries({
    name: '李雷',
    phone: '13800000000',
    text: '北京市海淀区中关村大街 1 号',
  }))
    await dialog.locator(`[name=${field}]`).fill(text)
  if (look.size === 'phone') {
    await page.route(
      (url) => url.origin !== base,
      (route) => route.fulfill({ status: 204 }), // the page stays open
    )
    await dialog.locator('[type=submit]').click()
    await soon(dialog, 'hidden')
  } else {
    await dialog.locator('[type=submit]').click()
    await soon(dialog.getByRole('img'))
    await take('payment')
    await close()
  }
  await orders()
  await soon(page.locator('[data-order]').filter({ visible: true }))
  await take('orders')
  await page.locator('[data-order] h3 a').filter({ visible: true }).first().click()
  await soon(page.locator('[data-step]').first())
  await take('order')
  await toShop(page)
  await page.locator('nav .upcoming').first().click()
  await page.evaluate(() => scrollTo(0, 0))
  await take('upcoming')
  await page.locator('.account').click()
  await dialog.locator('[name=email]').fill(EMAIL)
  await dialog.locator('[name=password]').fill(PASSWORD)
  await dialog.locator('[type=submit]').click()
  await soon(dialog, 'hidden')
  await page.locator('.account.in').click()
  await soon(dialog.locator('.home'))
  await take('account')
  for (const [n, view] of ['profile', 'addresses', 'password', 'devices', 'data'].entries()) {
    await dialog.locator('.home li button').nth(n).click()
    await soon(dialog.locator('.up'))
    await take(`account-${view}`)
    await dialog.locator('.up').click()
    await soon(dialog.locator('.home'))
  }
  await close()
  await page.context().setOffline(true)
  await soon(page.locator('.banner').first())
  await take('offline')
  await page.context().close()
  return shots
}

/** Draws pictures beside each other into one file. */
async function draw(open, pictures, path) {
  const page = await open('about:blank', { viewport: { width: 3_200, height: HEIGHT } })
  const images = pictures.map((picture) => `<img src="data:image/png;base64,${picture.toString('base64')}">`)
  await page.setContent(
    `<style>body{margin:0;background:#888;display:inline-flex;gap:12px;padding:12px}img{height:${HEIGHT}px}</style>${images.join('')}`,
  )
  await page.locator('body').screenshot({ path })
  await page.context().close()
}
