import { expectNoProblems, live, reviewPage, soon, takeShot, until } from './browser.mjs'
import { desktopDark, desktopLight, phoneDark, phoneLight, test } from './fixtures.mjs'
import { Operator } from './console.mjs'
import { stampede } from './program.mjs'

const EMAIL = 'texts@shop.example'
const PASSWORD = 'a sentence that nobody guesses'

const NAMES = { en: ['Contact', 'Terms', 'Privacy'], zh: ['联系我们', '服务条款', '隐私政策'] }
const SAMPLE = { en: 'This is a demo shop.', zh: '这是演示商城' }

/** The footer of the page: contact, terms and privacy. */
for (const look of [{ ...phoneDark, lang: 'zh' }, desktopLight])
  test(`footer, ${look.size}`, async ({ open, quiet: base }) => {
    const { lang = 'en', size, theme } = look
    const page = await open(base, look)
    const bottom = page.getByRole('contentinfo')
    const dialog = page.getByRole('dialog')
    await test.step('the page offers the texts in its language, after it is connected', async () => {
      await live(page)
      await soon(bottom)
      const names = await bottom.getByRole('button').allInnerTexts()
      if (names.join() !== NAMES[lang].join()) throw new Error(`the footer offers ${names.join()}`)
      await bottom.scrollIntoViewIfNeeded()
      await reviewPage(page, `footer-${size}-${theme}`, { fullPage: true })
    })
    await test.step('the keyboard opens and closes each text, and the focus returns', async () => {
      for (const name of NAMES[lang]) {
        const button = bottom.getByRole('button', { name })
        await button.focus()
        await page.keyboard.press('Enter')
        await soon(dialog.getByRole('heading', { name }))
        await soon(dialog.getByText(SAMPLE[lang]))
        if (name === NAMES[lang][1]) await reviewPage(page, `footer-text-${size}-${theme}`)
        await page.keyboard.press('Escape')
        await soon(page.locator('dialog .text').first(), 'detached') // the page has handled the close event
        if (!(await button.evaluate((element) => element === document.activeElement)))
          throw new Error(`the focus is not on ${name}`)
      }
      expectNoProblems(page)
    })
    await test.step('a text that cannot be loaded is loaded again on request', async () => {
      const route = '**/api/v1/shop/texts/*'
      let fail
      const failed = new Promise((resolve) => (fail = resolve))
      await page.route(route, async (request) => {
        await failed
        await request.abort()
      })
      await bottom.getByRole('button', { name: NAMES[lang][2] }).click()
      await soon(dialog.getByRole('status').filter({ hasText: /^(Loading…|加载中…)$/ }))
      fail()
      const failure = dialog.getByRole('alert').filter({ has: page.getByRole('button') })
      await soon(failure)
      await reviewPage(page, `footer-failed-${size}-${theme}`)
      await page.unroute(route)
      await failure.getByRole('button').click()
      await soon(dialog.getByText(SAMPLE[lang]))
    })
    await page.context().close()
  })

/** An operator changes texts. The route is cacheable, so each step opens a new browser context. */
test('footer, edited texts', async ({ open, busy: base, busyData: data }) => {
  const served = async () => (await (await fetch(`${base}/api/v1/shop`)).json()).texts
  await test.step("the page shows an operator's edit from the console", async () => {
    await stampede(data, ['user', 'add', EMAIL, '--role', 'operator', '--password'], `${PASSWORD}\n`)
    const operator = await Operator.open(open, base)
    await soon(operator.page.locator('[name=email]'))
    await operator.logIn(EMAIL, PASSWORD)
    await operator.goTo('/broadcast', '#texts')
    const field = operator.page.locator('[name=page-text]')
    await operator.page.waitForFunction(() => document.querySelector('[name=page-text]').value !== '')
    await field.fill('Call 400-000-0000.\n\n<b>Every day</b> from 9 to 18.')
    await operator.checkPage('texts', { fullPage: true })
    await operator.page.locator('form:has([name=page-text]) [type=submit]').click()
    await operator.confirm()
    await until(async () => {
      const response = await fetch(`${base}/api/v1/shop/texts/contact?lang=en`)
      return (await response.json()).text?.startsWith('Call')
    })
    const page = await open(base)
    await page.getByRole('contentinfo').getByRole('button', { name: 'Contact' }).click()
    await soon(page.getByRole('dialog').locator('.text p').first())
    const paragraphs = await page.getByRole('dialog').locator('.text p').allInnerTexts()
    if (paragraphs.join('|') !== 'Call 400-000-0000.|<b>Every day</b> from 9 to 18.')
      throw new Error(`the sheet shows ${paragraphs.join('|')}`)
    expectNoProblems(operator.page)
    await operator.page.context().close()
    await page.context().close()
  })
  await test.step('a missing translation is shown in the other language, an empty text is not offered', async () => {
    await stampede(data, ['text', 'set', 'terms', '-', '--lang', 'zh'], '')
    await stampede(data, ['text', 'set', 'privacy', '-', '--lang', 'zh'], '')
    await stampede(data, ['text', 'set', 'privacy', '-', '--lang', 'en'], '')
    await until(async () => !(await served()).privacy && !(await served()).terms.includes('zh'))
    const page = await open(base, { lang: 'zh' })
    const bottom = page.getByRole('contentinfo')
    await bottom.getByRole('button', { name: '服务条款' }).click()
    await soon(page.getByRole('dialog').locator('[lang=en]').getByText('This is a demo shop.'))
    const names = await bottom.getByRole('button', { includeHidden: true }).allInnerTexts()
    if (names.join() !== '联系我们,服务条款') throw new Error(`the footer offers ${names.join()}`)
    expectNoProblems(page)
    await page.context().close()
  })
})

/** Without JavaScript, the page explains in both languages why nothing loads. */
for (const { size, theme } of [phoneLight, desktopDark])
  test(`without JavaScript, ${size}: the notice is at the top, above the skeleton`, async ({
    browser,
    quiet: base,
  }) => {
    const context = await browser.newContext({
      viewport: size === 'phone' ? { width: 390, height: 844 } : { width: 1440, height: 900 },
      colorScheme: theme,
      javaScriptEnabled: false,
    })
    const page = await context.newPage()
    await page.goto(base)
    const skeleton = await page.locator('.skeleton').boundingBox() // null: hidden
    for (const text of ['requires JavaScript', '需要 JavaScript']) {
      const box = await page.locator('.noscript p').filter({ hasText: text }).boundingBox()
      if (!box || box.y + box.height > 400)
        throw new Error(`"${text}" is not at the top: ${JSON.stringify(box)}`)
      if (skeleton && skeleton.y < box.y) throw new Error(`"${text}" is below the skeleton`)
    }
    await takeShot(page, `without-script-${size}-${theme}`)
    await context.close()
  })
