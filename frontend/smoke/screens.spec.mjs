import {
  ADDRESS,
  buy,
  confirmation,
  expectNoSideways,
  live,
  reviewPage,
  soon,
  takeShot,
  toShop,
} from './browser.mjs'
import { test } from './fixtures.mjs'

const phone = { size: 'phone', viewport: { width: 320, height: 568 } }
/** The minimum size of a target, in CSS pixels. */
const TARGET = 44

async function ready(open, base, look) {
  const page = await open(base, look)
  await live(page)
  await soon(page.locator('[data-action="buy"]').first())
  return page
}

for (const theme of ['light', 'dark'])
  test(`screens, 320 px, ${theme}`, async ({ open, quiet: base }) => {
    const page = await ready(open, base, { ...phone, theme })
    await test.step('the page fits', async () => {
      await reviewPage(page, `screens-320-${theme}`)
      const controls = await page.locator('header :is(button, .bag):visible').count()
      if (controls > 4) throw new Error(`the header has ${controls} controls`)
      const bag = await page.locator('.bag').boundingBox()
      if (bag.x + bag.width > 320) throw new Error(`My orders ends at ${bag.x + bag.width} px`)
    })
    await test.step('a guest reaches address, language and theme', async () => {
      const dialog = page.locator('dialog[open]')
      await page.locator('.menu').click()
      await soon(dialog.locator('.theme'))
      await reviewPage(page, `screens-settings-${theme}`)
      await dialog.locator('.lang').click()
      await page.waitForFunction(() => document.documentElement.lang === 'zh-CN')
      await dialog.locator('.theme').click()
      await page.waitForFunction((old) => document.documentElement.dataset.theme !== old, theme)
      await dialog.locator('.address').click()
      await soon(dialog.locator('[name=name]'))
      await expectNoSideways(page)
    })
  })

for (const [size, width] of [
  ['phone', 390],
  ['desktop', 1440],
])
  test(`screens: text of 32 px fits ${width} px`, async ({ open, quiet: base }) => {
    const page = await ready(open, base, { size })
    const debug = await page.context().newCDPSession(page)
    await debug.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
    await page.waitForFunction(() => getComputedStyle(document.body).fontSize === '32px')
    await expectNoSideways(page)
    await expectTextsFit(page)
    await takeShot(page, `screens-large-${width}`)
    await page.locator('[data-sale] h3 a').first().click()
    await soon(page.locator('[data-details] [data-action]'))
    await expectNoSideways(page)
    await takeShot(page, `screens-large-sale-${width}`)
  })

/** Throws if two texts of the page overlap, or a text is cut off. */
async function expectTextsFit(page) {
  const faults = await page.evaluate(() => {
    const found = []
    const texts = []
    const walker = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement
      const hidden = !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      if (hidden || element.closest('.visually-hidden, nav, .live, .room, .messages, .skip')) continue
      const range = document.createRange()
      range.selectNodeContents(walker.currentNode)
      for (const rect of range.getClientRects())
        if (rect.width > 1) texts.push({ text: walker.currentNode.textContent.trim(), element, rect })
    }
    for (const { text, element, rect } of texts) {
      for (let box = element; box; box = box.parentElement) {
        const { overflowX } = getComputedStyle(box)
        const { right } = box.getBoundingClientRect()
        if ((overflowX !== 'visible' || box === document.documentElement) && rect.right > right + 1)
          found.push(`cut off: ${text}`)
      }
    }
    for (const [i, a] of texts.entries())
      for (const b of texts.slice(i + 1)) {
        const across = Math.min(a.rect.right, b.rect.right) - Math.max(a.rect.left, b.rect.left)
        const down = Math.min(a.rect.bottom, b.rect.bottom) - Math.max(a.rect.top, b.rect.top)
        // The boxes of two lines overlap by the leading.
        if (across > 2 && down > 0.4 * Math.min(a.rect.height, b.rect.height))
          found.push(`overlap: ${a.text} / ${b.text}`)
      }
    return [...new Set(found)]
  })
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

for (const viewport of [
  { width: 390, height: 664 },
  { width: 844, height: 390 },
])
  test(`screens, ${viewport.width}×${viewport.height}`, async ({ open, quiet: base }) => {
    const page = await ready(open, base, { size: 'phone', viewport, address: ADDRESS })
    await test.step('the first Buy is visible', async () => {
      await reviewPage(page, `screens-${viewport.width}x${viewport.height}-light`)
      const { y, height } = await page.locator('[data-sale]').first().locator('[data-action]').boundingBox()
      if (y + height > viewport.height) throw new Error(`Buy ends at ${y + height} px`)
    })
    await test.step('a sheet is usable', async () => {
      const width = () => page.locator('main').evaluate((main) => main.getBoundingClientRect().width)
      const before = await width()
      await page.locator('.account').click()
      const dialog = page.locator('dialog[open]')
      await soon(dialog.locator('[name=password]'))
      if ((await width()) !== before) throw new Error('the page behind the sheet changed its width')
      const { overflow, scrollbarGutter } = await page.evaluate(() => {
        const style = getComputedStyle(document.documentElement)
        return { overflow: style.overflow, scrollbarGutter: style.scrollbarGutter }
      })
      if (overflow !== 'hidden' || scrollbarGutter !== 'stable')
        throw new Error(`the page behind the sheet scrolls: ${overflow} ${scrollbarGutter}`)
      await dialog.evaluate((element) => element.scrollTo(0, element.scrollHeight))
      await expectOnTop(dialog.locator('.close'))
      await page.keyboard.press('Escape')
    })
    await test.step('the sale page shows its main button', async () => {
      await page.locator('[data-sale] h3 a').first().click()
      await soon(page.locator('[data-details] .markup'))
      await page.locator('[data-details] [data-action]').scrollIntoViewIfNeeded()
      await expectOnTop(page.locator('[data-details] [data-action]'))
      await reviewPage(page, `screens-sale-${viewport.width}x${viewport.height}`)
      await toShop(page)
    })
    await test.step('Pay opens the cashier', async () => {
      await buy(page)
      await page.locator('[data-sale] [data-action="pay"][aria-disabled="false"]').first().click()
      await page.waitForURL(/\/cashier\//)
    })
  })

/** Throws if another element covers the top, middle or bottom of this one, or it is outside of the window. */
async function expectOnTop(locator) {
  const onTop = await locator.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect()
    const points = [y + 2, y + height / 2, y + height - 2]
    return points.every((at) => element.contains(document.elementFromPoint(x + width / 2, at)))
  })
  if (!onTop) throw new Error(`${locator} is not on top`)
}

test(`screens: targets have ${TARGET} px`, async ({ open, quiet: base }) => {
  const page = await ready(open, base, { size: 'phone' })
  const dialog = page.locator('dialog[open]')
  const opened = {
    page: async () => soon(page.locator('.menu')),
    orders: async () => {
      await buy(page)
      await page.locator('.bag').click()
      await soon(page.locator('main [data-order] .pay'))
    },
    sale: async () => {
      await page.locator('[data-sale] h3 a').last().click()
      await soon(page.locator('[data-details] [data-action]'))
    },
    account: async () => {
      await page.locator('.account').click()
      await soon(dialog.locator('[name="password"]'))
    },
    settings: async () => {
      await page.locator('.menu').click()
      await soon(dialog.locator('.theme'))
    },
    address: async () => {
      await page.locator('.menu').click()
      await dialog.locator('.address').click()
      await soon(dialog.locator('[name=name]'))
    },
  }
  for (const [name, openSheet] of Object.entries(opened)) {
    await test.step(name, async () => {
      await openSheet()
      await takeShot(page, `screens-targets-${name}`)
      const small = await page.evaluate((least) => {
        const top = document.querySelector('dialog[open]') ?? document
        const controls = [
          ...top.querySelectorAll(
            'button, .button, .bag, .button-plain, input, select, textarea, summary, [role="button"]',
          ),
        ]
        return controls
          .filter((control) => control.checkVisibility({ visibilityProperty: true }))
          .map((control) =>
            control.matches('[type="radio"], [type="checkbox"]') ? control.closest('label') : control,
          )
          .map((target) => ({ target, box: target.getBoundingClientRect() }))
          .filter(({ box }) => Math.min(box.width, box.height) < least - 0.1)
          .map(({ target, box }) => `${target.className || target.innerText}: ${box.width} × ${box.height}`)
      }, TARGET)
      if (small.length > 0) throw new Error([...new Set(small)].join('\n'))
    })
    if (await dialog.count()) await page.keyboard.press('Escape')
    else if (name !== 'page') await toShop(page)
    await soon(dialog, 'hidden')
  }
})

test('screens: forced colours keep bars, chips, buttons and the selected slot recognisable', async ({
  open,
  quiet: base,
}) => {
  const page = await ready(open, base, {})
  await buy(page)
  await page.emulateMedia({ forcedColors: 'active' })
  await takeShot(page, 'screens-forced')
  const style = (selector, name) =>
    page
      .locator(selector)
      .first()
      .evaluate((element, wanted) => getComputedStyle(element)[wanted], name)
  const differ = async (what, one, other) => {
    const [a, b] = [await style(one, 'backgroundColor'), await style(other, 'backgroundColor')]
    if (a === b) throw new Error(`${what}: both are ${a}`)
  }
  await differ('sold units', '.stock .progress > :last-child', 'body')
  await differ('held units', '.stock .progress > .faint', '.stock .progress > :last-child')
  await differ('the time left', '.deadline .progress > :last-child', 'body')
  await differ('the selected slot', 'nav [aria-current]', 'nav button:not([aria-current])')
  await differ('the live dot', '.live i', 'body')
  for (const selector of ['.stock .progress', '.state.chip', '.button[data-action]', '.board'])
    if ((await style(selector, 'borderTopWidth')) === '0px') throw new Error(`${selector} has no border`)
})

test('screens: after a cancel with the keyboard the focus stays at the order', async ({
  open,
  quiet: base,
}) => {
  const page = await ready(open, base, {})
  const id = await buy(page)
  const order = page.locator(`.rail [data-order="${id}"]`)
  await order.getByRole('button', { name: /cancel/i }).press('Enter')
  await page.waitForFunction(() => document.activeElement.textContent === 'Keep the order')
  await soon(confirmation(page).and(page.locator('[aria-disabled="false"]')))
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await soon(page.locator(`.rail [data-order="${id}"][data-state="cancelled"]`))
  await page.waitForFunction(
    (wanted) => document.activeElement.closest('[data-order]')?.dataset.order === wanted,
    id,
  )
})
