import { LIMIT_MS, buy, live, soon, toShop, until } from './browser.mjs'

/** A browser context, and the actions of its user. */
export class Visitor {
  static async open(open, base, look, reader) {
    const visitor = new Visitor()
    visitor.page = await open('about:blank', look)
    visitor.dialog = visitor.page.locator('dialog[open]')
    visitor.size = look.size
    visitor.reader = reader
    // The newest captcha, stored when its response begins: the page may show it before the test has read it.
    visitor.page.on('response', (response) => {
      if (!response.url().endsWith('/auth/captcha') || !response.ok()) return
      visitor.captcha = response.json()
      visitor.captcha.catch(() => {}) // the page may be left before it arrives
    })
    await visitor.page.goto(base)
    return visitor
  }

  async openAccount() {
    await this.page.locator('.account').click()
    await soon(this.dialog.locator('h2').first())
  }

  part(n) {
    return this.dialog.locator('.home li button').nth(n).click()
  }

  async fill(fields) {
    for (const [name, value] of Object.entries(fields))
      await this.dialog.locator(`[name=${name}]`).fill(value)
  }

  /**
   * Submits the form, with the captcha if there is one, until `wanted` shows. A busy or rate-limited server makes it
   * wait and retry.
   */
  async submit(wanted, checkPage, what) {
    for (let tries = 1, end = Date.now() + LIMIT_MS; ; tries++) {
      const captcha = this.dialog.locator('img')
      // The frame of the picture is visible before the picture is loaded.
      if (checkPage || (await this.dialog.locator('.captcha').isVisible())) {
        await soon(captcha)
        await this.dialog.locator('[name=captcha]').fill(await this.reader.captcha((await this.captcha).id))
        if (checkPage && tries === 1) await checkPage(what)
      }
      await this.dialog.locator('[type=submit]').click()
      const busy = this.dialog.locator('.problem').filter({ hasText: /moment|稍后|\d+ s|\d+ ?秒/ })
      // A login may start to require a captcha after failed logins of other tests.
      await soon(wanted.or(busy).or(this.dialog.locator('[name=captcha][aria-invalid=true]')).first())
      if (await wanted.first().isVisible()) return
      if (Date.now() > end) throw new Error(await this.dialog.innerText())
      await this.page.waitForTimeout(1_000 * tries)
    }
  }

  async logIn(email, password) {
    await this.openAccount()
    await this.fill({ email, password })
    await this.submit(this.page.locator('.account.in'))
    await soon(this.dialog, 'hidden')
    await live(this.page)
  }

  /** Buys from the first card, which no other test uses. */
  buy() {
    return buy(this.page, this.page.locator('[data-sale]').first())
  }

  /** Checks that the order is listed: beside the page, or in the drawer on a phone. */
  async shows(order) {
    if (this.size === 'phone') await this.page.locator('.bag').click()
    const place = this.size === 'phone' ? 'main' : '.rail'
    await soon(this.page.locator(`${place} [data-order="${order}"]`))
    if (this.size === 'phone') await toShop(this.page)
  }
}

/**
 * Waits until exactly the given fields are invalid, each with a text directly below that describes it. The focus is on
 * `focused`, the first of them by default.
 */
export async function expectInvalid(form, names, focused = names[0]) {
  const read = () =>
    form.locator('[name]').evaluateAll((fields) => {
      const textOf = (id) => document.getElementById(id)
      const invalid = fields.filter((field) => field.ariaInvalid === 'true')
      const described = invalid.every((field) => {
        const ids = (field.getAttribute('aria-describedby') ?? '').split(' ')
        const problem = ids.map(textOf).find((text) => text?.matches('.problem:not(:empty)'))
        const below = problem?.getBoundingClientRect().top - field.getBoundingClientRect().bottom
        return below >= 0 && below < 20
      })
      return {
        invalid: invalid.map(({ name }) => name).join(),
        described,
        focus: document.activeElement.name,
      }
    })
  let state
  try {
    await until(async () => {
      state = await read()
      const focus = focused === undefined || state.focus === focused
      return state.invalid === names.join() && state.described && focus
    })
  } catch {
    throw new Error(`want ${names} invalid and ${focused} focused, got ${JSON.stringify(state)}`)
  }
}
