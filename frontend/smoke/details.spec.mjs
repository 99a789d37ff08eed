import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expectNoProblems, live, reviewPage, soon, takeShot } from './browser.mjs'
import { desktopDark, phoneLight, test } from './fixtures.mjs'
import { StagedShop } from './staged.mjs'

const DESCRIPTION =
  '<p>Made to be used <strong>every day</strong>.</p><ul><li>Spare parts for ten years</li></ul>' +
  '<p>More at <a href="https://maker.example/">the maker</a>.</p>'
const RULES = 'Returns within seven days.'
const HOSTILE =
  '<p onclick="pwned=1">Plain <img src=x onerror="globalThis.pwned=2"><script>globalThis.pwned=3</script>words' +
  '<a href="javascript:globalThis.pwned=4"> and no link</a></p><svg onload="globalThis.pwned=5"></svg>'

const DETAILS = '**/api/v1/sales/*'
const detailsOf = (page) => page.locator('[data-details]')

/** Sells a product with three pictures, a description and rules. */
async function sellPictured(shop, page) {
  const fields = { name: 'Pot', 'list-price': '99', description: DESCRIPTION, rules: RULES }
  const flags = Object.entries(fields).map(([name, value]) => `--${name}=${value}`)
  const product = JSON.parse(await shop.run(['product', 'create', ...flags, '--no-ships', '--json']))
  const files = []
  for (const colour of ['red', 'green', 'blue']) {
    await page.setContent(`<body style="background: ${colour}">`)
    files.push(join(shop.data, `${colour}.png`))
    await writeFile(files.at(-1), await page.screenshot())
  }
  await shop.run(['product', 'image', product.id, ...files, '--alt=Red pot,Green pot,Blue pot'])
  await shop.sell(product.id, '--price', '9', '--stock', '9', '--limit', '1')
}

/** The page with the pictures, description and rules of a product. */
for (const look of [phoneLight, { ...desktopDark, lang: 'zh' }])
  test(`details, ${look.size}`, async ({ open, shop }) => {
    const { size, theme } = look
    const page = await open('about:blank', look)
    await sellPictured(shop, page)
    let requests = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/sales/')) requests++
    })
    await page.goto(shop.base)
    await live(page)
    const card = page.locator('[data-sale]').first()
    const details = detailsOf(page)
    const strip = details.locator('.strip')
    const current = details.locator('.pictures [aria-current]')
    const turnedTo = (n) =>
      page.waitForFunction(
        ([n]) => {
          const strip = document.querySelector('[data-details] .strip')
          const at = strip.scrollLeft / strip.clientWidth
          const marks = [...document.querySelectorAll('[data-details] .pictures button')]
          return Math.abs(at - n) < 0.02 && marks.findIndex((mark) => mark.ariaCurrent === 'true') === n
        },
        [n],
      )

    await test.step('the Enter key on the name opens them', async () => {
      await card.locator('h3 a').focus()
      await page.keyboard.press('Enter')
      await soon(details.getByText('Spare parts for ten'))
      await soon(details.getByText('Returns within seven days'))
      const link = details.locator('.markup a')
      if ((await link.getAttribute('rel')) !== 'nofollow noopener')
        throw new Error('the link sends a referrer')
    })
    await test.step('show all pictures, each with its description', async () => {
      const broken = await strip.locator('img').evaluateAll(async (images) => {
        images.forEach((image) => (image.loading = 'eager'))
        await Promise.all(images.map((image) => image.decode().catch(() => undefined)))
        return images.filter(({ naturalWidth, alt }) => naturalWidth === 0 || !alt).map(({ src }) => src)
      })
      if (broken.length > 0 || (await strip.locator('img').count()) !== 3)
        throw new Error(`broken: ${broken}`)
      await details.locator('.pictures button').nth(2).click()
      await turnedTo(2)
      await strip.focus()
      await page.keyboard.press('ArrowLeft')
      await turnedTo(1)
      if (!/2.*3.*[:：] *\S/.test(await current.getAttribute('aria-label')))
        throw new Error('the thumbnail has no description')
    })
    await test.step('are accessible and fit', () => reviewPage(page, `details-${size}-${theme}`))
    await test.step('offer the Buy button, which creates an order', async () => {
      await details.locator('[data-action="buy"]').click()
      await soon(details.locator('[data-action="pay"]'))
      await takeShot(page, `details-${size}-${theme}-bought`)
    })
    await test.step('close with Back, and the focus moves to the cards', async () => {
      await page.goBack()
      await soon(details, 'detached')
      await soon(card)
      await page.waitForFunction(() => document.activeElement.matches('main'))
    })
    await test.step('open with a click on the picture, and are not requested again', async () => {
      await card.locator('.picture').click()
      await soon(details.getByText('Spare parts for ten'))
      if (requests !== 1) throw new Error(`got ${requests} requests for details, want 1`)
    })
    await test.step('report no errors', () => expectNoProblems(page))
  })

/** Details that fail to load, and a description with scripts. */
test('bad details', async ({ open, quiet }) => {
  const page = await open(quiet)
  const details = detailsOf(page)
  await live(page)
  await test.step('details that fail to load can be requested again', async () => {
    await page.route(DETAILS, (route) => route.fulfill({ status: 503 }))
    await page.locator('[data-sale] h3 a').first().click()
    await soon(details.getByRole('alert'))
    page.problems = [] // the browser logs the failure
    await page.unroute(DETAILS)
    // The server removes scripts when it stores a description.
    await page.route(DETAILS, async (route) => {
      const response = await route.fetch()
      const sale = await response.json()
      sale.description = HOSTILE
      delete sale.product.texts
      await route.fulfill({ response, json: sale })
    })
    await details.getByRole('button', { name: 'Try again' }).click()
    await soon(details.getByText('Plain words and no link'))
  })
  await test.step('scripts in the stored description are removed', async () => {
    const made = await page.evaluate(() => ({
      pwned: globalThis.pwned,
      more: document.querySelectorAll('.markup :not(p)').length,
      heard: document.querySelector('.markup p').getAttributeNames().length,
    }))
    if (made.pwned !== undefined || made.more > 0 || made.heard > 1) throw new Error(JSON.stringify(made))
    // The parser reports the handlers that it does not run.
    page.problems = page.problems.filter(
      (text) => !text.startsWith('Executing inline event handler violates'),
    )
    expectNoProblems(page)
  })
})

/** The details on any server. */
test('details of a real shop have its description and rules', async ({ open, busy }) => {
  const page = await open(busy)
  await page.locator('[data-sale] h3 a').first().click()
  await soon(detailsOf(page).locator('.rules'))
  await soon(detailsOf(page).locator('.markup'))
  expectNoProblems(page)
})

/** The page of a sale counts down to its end, and nothing moves. */
for (const look of [{ ...phoneLight, lang: 'zh', viewport: { width: 320, height: 640 } }, desktopDark])
  test(`details: the countdown to the end, ${look.size}`, async ({ open, quiet }) => {
    const page = await open('about:blank', { ...look, relayed: true })
    const staged = new StagedShop(page.relay)
    await page.goto(quiet)
    await page.locator('[data-sale] h3 a').first().click()
    const details = detailsOf(page)
    const clock = details.locator('.until')
    await soon(clock.getByText(/Closes in|距结束/))
    await soon(details.locator('.rules'))
    const tops = () =>
      details
        .locator('h2, .price, .stock, [data-action]')
        .evaluateAll((all) => all.map((element) => element.getBoundingClientRect().top).join())
    const before = await tops()
    await reviewPage(page, `details-${look.size}-countdown`)
    staged.change(await details.getAttribute('data-details'), { paused: true })
    await soon(clock.getByText(/Paused|已暂停/))
    await takeShot(page, `details-${look.size}-countdown-paused`)
    staged.endCurrentIn(12_000)
    await page.waitForFunction(() =>
      /^\d\.\d$/.test(document.querySelector('.until [role=timer]').textContent),
    )
    await takeShot(page, `details-${look.size}-countdown-last`)
    await soon(details.and(page.locator('[data-phase="closed"]')))
    await soon(clock.getByRole('timer'), 'detached')
    await takeShot(page, `details-${look.size}-countdown-closed`)
    const after = await tops()
    if (after !== before) throw new Error(`moved from ${before} to ${after}`)
  })

const WIDE =
  `<div style="width: 2000px"><img src="/products/kettle.svg" alt="Front" width="2000"></div><h2>Specs</h2>` +
  `<table><tr>${'<td>Continuous_operation</td>'.repeat(12)}</tr></table><script>globalThis.pwned = 1</script>`

/** A wide picture and a wide table on a small phone. */
test('details with a table and a picture fit 320 px', async ({ open, shop }) => {
  const product = JSON.parse(
    await shop.run(['product', 'create', '--name=Pot', '--list-price=99', `--description=${WIDE}`, '--json']),
  )
  if (product.removed.join() !== '<div style>,<div>,<img width>,<script>')
    throw new Error(`got the removed markup ${product.removed}`)
  await shop.sell(product.id, '--price', '9', '--stock', '9', '--limit', '1')
  const page = await open(shop.base, { ...phoneLight, viewport: { width: 320, height: 568 } })
  await page.locator('[data-sale] h3 a').first().click()
  const markup = detailsOf(page).locator('.markup')
  const image = markup.locator('img')
  await image.scrollIntoViewIfNeeded()
  await soon(image)
  await image.evaluate((shown) => shown.decode())
  await soon(markup.locator('td').first())
  const scrolls = await markup.locator('.wide-table').evaluate((box) => box.scrollWidth > box.clientWidth)
  if (!scrolls) throw new Error('the table does not scroll in its own box')
  await reviewPage(page, 'details-320-table')
  expectNoProblems(page)
})
