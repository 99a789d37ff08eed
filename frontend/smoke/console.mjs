import { reviewPage, soon } from './browser.mjs'

/** An operator at the console. */
export class Operator {
  static async open(open, base, look = {}) {
    const operator = new Operator()
    const { size = 'desktop', theme = 'light' } = look
    Object.assign(operator, { base, name: `console-${size}-${theme}` })
    operator.page = await open(`${base}/console`, look)
    return operator
  }

  async logIn(email, password) {
    await this.page.locator('[name=email]').fill(email)
    await this.page.locator('[name=password]').fill(password)
    await this.page.keyboard.press('Enter')
  }

  async goTo(path, sight) {
    await this.page.locator(`nav a[href="/console${path}"]`).click()
    await soon(this.page.locator(sight).first())
  }

  /** Confirms the dialog, and waits for the outcome. */
  async confirm() {
    const dialog = this.page.getByRole('dialog')
    await dialog.locator('[type=submit]').click()
    await soon(dialog, 'hidden')
    await soon(this.page.locator('.outcome p'))
  }

  checkPage(what, options) {
    return reviewPage(this.page, `${this.name}-${what}`, options)
  }
}
