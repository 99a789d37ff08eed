import { expectNoProblems, reviewPage, soon, takeShot } from './browser.mjs'
import { desktopDark, phoneLight, test } from './fixtures.mjs'

const HOSTILE =
  '<p onclick="pwned=1">Plain <img src=x onerror="globalThis.pwned=2"><script>globalThis.pwned=3</script>words' +
  '<a href="javascript:globalThis.pwned=4"> and no link</a></p><svg onload="globalThis.pwned=5"></svg>'

const sheetOf = (page) => page.locator('dialog[open] [data-details]')

async function begin(open, standIn, look) {
  const page = await open(standIn.base, look)
  const card = page.locator('[data-sale]').first()
  await soon(card)
  return { page, card, name: card.locator('h3 button') }
}

/** The sheet with the pictures, description and rules of a product, on the stand-in server. */
for (const look of [phoneLight, { ...desktopDark, lang: 'zh' }])
  test(`details, ${look.size}`, async ({ open, standIn }) => {
    const { size, theme } = look
    const { page, card, name } = await begin(open, standIn, look)
    const sheet = sheetOf(page)
    const strip = sheet.locator('.strip')
    const current = sheet.locator('.pictures [aria-current]')
    const turnedTo = (n) =>
      page.waitForFunction(
        ([n]) => {
          const strip = document.querySelector('dialog[open] .strip')
          const at = strip.scrollLeft / strip.clientWidth
          const marks = [...document.querySelectorAll('dialog[open] .pictures button')]
          return Math.abs(at - n) < 0.02 && marks.findIndex((mark) => mark.ariaCurrent === 'true') === n
        },
        [n],
      )

    await test.step('the Enter key on the name opens them', async () => {
      await name.focus()
      await page.keyboard.press('Enter')
      await soon(sheet.getByText('Spare parts for ten'))
      await soon(sheet.getByText('Returns within seven days'))
      const link = sheet.locator('.markup a')
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
      await sheet.locator('.pictures button').nth(2).click()
      await turnedTo(2)
      await strip.focus()
      await page.keyboard.press('ArrowLeft')
      await turnedTo(1)
      if (!/2.*3.*[:：] *\S/.test(await current.getAttribute('aria-label')))
        throw new Error('the thumbnail has no description')
    })
    await test.step('are accessible and fit', () => reviewPage(page, `details-${size}-${theme}`))
    await test.step('offer the Buy button, which creates an order', async () => {
      await sheet.locator('[data-action="buy"]').click()
      await soon(sheet.locator('[data-action="pay"]'))
      await takeShot(page, `details-${size}-${theme}-bought`)
    })
    await test.step('close with Escape, and restore the focus', async () => {
      await page.keyboard.press('Escape')
      await soon(sheet, 'detached')
      await page.waitForFunction(() => document.activeElement?.closest('[data-sale] h3'))
    })
    await test.step('open with a click on the picture, and are not requested again', async () => {
      standIn.lostDetails = 1
      await card.locator('.picture').click()
      await soon(sheet.getByText('Spare parts for ten'))
      if (standIn.lostDetails !== 1) throw new Error('the details were requested again')
      await page.keyboard.press('Escape')
    })
    await test.step('report no errors', () => expectNoProblems(page))
  })

/** Details that fail to load, and a description with scripts. */
test('bad details', async ({ open, standIn }) => {
  const { page, name } = await begin(open, standIn)
  const sheet = sheetOf(page)
  standIn.lostDetails = 1
  standIn.shop.description = HOSTILE
  await test.step('details that fail to load can be requested again', async () => {
    await name.click()
    await soon(sheet.getByRole('alert'))
    page.problems = [] // the browser logs the failure
    await sheet.getByRole('button', { name: 'Try again' }).click()
    await soon(sheet.getByText('Plain words and no link'))
  })
  await test.step('scripts in the stored description are removed', async () => {
    const made = await page.evaluate(() => ({
      pwned: globalThis.pwned,
      more: document.querySelectorAll('.markup :not(p)').length,
      heard: document.querySelector('.markup p').getAttributeNames().length,
    }))
    if (made.pwned !== undefined || made.more > 0 || made.heard > 1) throw new Error(JSON.stringify(made))
    expectNoProblems(page)
  })
})

/** The details sheet on any server. */
test('details of a real shop have its description and rules', async ({ open, busy }) => {
  const page = await open(busy)
  await page.locator('[data-sale] h3 button').first().click()
  await soon(sheetOf(page).locator('.rules'))
  await soon(sheetOf(page).locator('.markup'))
  expectNoProblems(page)
})
