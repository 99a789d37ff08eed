import { reviewPage, soon } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'
import { Visitor, expectInvalid } from './visitor.mjs'

/**
 * The errors of all forms of the account sheet, at their fields. On a phone, the visitor also registers, for the forms
 * of an account.
 */
for (const look of [{ ...phoneDark, lang: 'zh' }, desktopLight])
  test(`forms, ${look.size}`, async ({ open, quiet: base, reader }) => {
    const { size } = look
    const visitor = await Visitor.open(open, base, look, reader)
    const { page, dialog } = visitor
    const checkPage = (what) => reviewPage(page, `forms-${size}-${what}`)
    const submit = () => dialog.locator('[type=submit]').click()
    const back = () => dialog.locator('.up').click()

    /** Submits the open form, which marks the fields, and corrects them one by one. */
    const checkForm = (what, names, openForm) =>
      test.step(`${what}: empty fields are marked at once, each until it is changed`, async () => {
        await openForm()
        await submit()
        await expectInvalid(dialog, names)
        await checkPage(what)
        for (const [n, name] of names.entries()) {
          const field = dialog.locator(`[name=${name}]`)
          await (name === 'sure' ? field.check() : field.pressSequentially('a'))
          await expectInvalid(dialog, names.slice(n + 1), name)
        }
      })

    await checkForm('login', ['email', 'password'], () => visitor.openAccount())
    await test.step('login: a wrong password is reported at the password', async () => {
      await visitor.fill({ email: `nobody-${size}@example.com`, password: 'not the password' })
      await visitor.submit(dialog.locator('[name=password][aria-invalid=true]'))
      await expectInvalid(dialog, ['password'])
    })
    await checkForm('forgot', ['email', 'captcha'], async () => {
      await dialog.locator('.button-link').first().click()
      await dialog.locator('[name=email]').fill('')
      await soon(dialog.locator('img'))
    })
    await checkForm('register', ['email', 'new-password', 'captcha'], async () => {
      await dialog.locator('.button-link').click()
      await dialog.locator('.button-link').nth(1).click()
      await dialog.locator('[name=email]').fill('')
      await soon(dialog.locator('img'))
    })
    const email = `forms-${Date.now()}-${size}@example.com`
    await test.step('register: a wrong captcha is reported at the captcha', async () => {
      await visitor.fill({ email, 'new-password': 'a password for forms', captcha: '0' })
      await submit()
      await expectInvalid(dialog, ['captcha'])
      await soon(dialog.locator('img'))
      await checkPage('wrong-captcha')
    })
    await test.step('register: a common password is reported at the password', async () => {
      await visitor.fill({ 'new-password': 'password123' })
      await visitor.submit(dialog.locator('[name=new-password][aria-invalid=true]'))
      await expectInvalid(dialog, ['new-password'])
    })
    await checkForm('activate', ['password'], () => page.goto(`${base}/#activate=nonsense`))
    await checkForm('reset', ['new-password'], () => page.goto(`${base}/#reset=nonsense`))
    await page.keyboard.press('Escape')
    await checkForm('address', ['name', 'phone', 'text'], async () => {
      if (size === 'phone') await page.locator('.menu').click()
      await page.locator('.address').locator('visible=true').click()
      await soon(dialog.locator('[name=phone]'))
      await dialog.locator('[name=phone]').fill('\u200b')
    })
    await page.keyboard.press('Escape')
    if (size !== 'phone') return

    const password = 'a sentence for all forms'
    await test.step('activate: another password than the registered one is reported at the password', async () => {
      await visitor.openAccount()
      await dialog.locator('.button-link').nth(1).click()
      await visitor.fill({ email, 'new-password': password })
      await visitor.submit(dialog.locator('.mark'))
      await page.goto(base + (await reader.link(email, 'activate')))
      await visitor.fill({ password: 'not the chosen password' })
      await visitor.submit(dialog.locator('[name=password][aria-invalid=true]'))
      await expectInvalid(dialog, ['password'])
      await visitor.fill({ password })
      await visitor.submit(dialog.locator('.mark.good'))
      await dialog.locator('.mark .button').click()
      await visitor.fill({ password })
      await visitor.submit(page.locator('.account.in'))
    })
    await checkForm('profile', ['name'], async () => {
      await visitor.openAccount()
      await visitor.part(0)
      await dialog.locator('[name=name]').fill(' ')
    })
    await checkForm('password', ['password', 'new-password'], async () => {
      await back()
      await visitor.part(2)
    })
    await test.step('password: a wrong current password is reported at its field', async () => {
      await visitor.fill({ password: 'not the password', 'new-password': 'another sentence for forms' })
      await visitor.submit(dialog.locator('[name=password][aria-invalid=true]'))
      await expectInvalid(dialog, ['password'])
    })
    await checkForm('erase', ['sure', 'password'], async () => {
      await back()
      await visitor.part(4)
      await dialog.locator('.bad').click()
    })
  })
