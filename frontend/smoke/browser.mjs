import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { decodeQR } from 'qr/decode.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The longest wait for what has to come, also on a machine that does much else; what comes sooner is not waited for. */
export const PATIENCE_MS = 60_000

export const sizes = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1440, height: 900 } },
}

/** Debian's Chromium, and pages in it that remember what went wrong. */
export class Browser {
  static async launch() {
    const executablePath = process.env.CHROMIUM || '/usr/bin/chromium'
    const browser = new Browser()
    browser.chromium = await chromium.launch({ executablePath, args: flags, headless: true })
    browser.shots = process.env.SMOKE_SHOTS || (await mkdtemp(join(tmpdir(), 'stampede-shots-')))
    browser.temporary = !process.env.SMOKE_SHOTS
    await mkdir(browser.shots, { recursive: true })
    return browser
  }

  /** A page with a storage of its own, in the given size ("phone", "desktop") and theme. */
  async open(base, size, colorScheme) {
    const context = await this.chromium.newContext({
      ...sizes[size],
      colorScheme,
      locale: 'en-GB',
    })
    const page = await context.newPage()
    page.problems = []
    page.on('console', (message) => {
      if (message.type() === 'error') page.problems.push(message.text())
    })
    page.on('pageerror', (error) => page.problems.push(String(error)))
    await page.goto(base)
    return page
  }

  async shoot(page, name, options = {}) {
    await page.screenshot({ path: join(this.shots, `${name}.png`), animations: 'disabled', ...options })
  }

  async close() {
    await this.chromium.close()
    if (this.temporary) await rm(this.shots, { recursive: true, force: true })
  }
}

/** The text of the QR code on a picture of a page, as a camera reads it from the screen. */
export async function scan(page, locator) {
  const picture = await locator.screenshot({ animations: 'disabled' })
  // A page of its own decodes the picture: the shop's security policy does not apply there.
  const darkroom = await page.context().newPage()
  const { data, ...size } = await darkroom.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const { width, height } = bitmap
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(bitmap, 0, 0)
    return { width, height, data: [...canvas.getImageData(0, 0, width, height).data] }
  }, picture.toString('base64'))
  await darkroom.close()
  return decodeQR({ ...size, data: Uint8Array.from(data) })
}

/** What a countdown in there says, in seconds. */
export async function secondsLeft(locator) {
  const [minutes, seconds] = (await locator.locator('[data-deadline]').innerText()).split(':')
  return Number(minutes) * 60 + Number(seconds)
}

/** Throws when axe finds something serious or critical. */
export async function expectAccessible(page) {
  // A button that has just become Pay changes its colours once more, in the middle of being judged.
  await page.waitForFunction(() => !document.querySelector('.pay.calm'))
  // What fades in or out has no colour that could be judged.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.evaluate(() => {
    const moving = document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
    for (const animation of moving) animation.finish() // those that are under way are not ended by that
  })
  // Through the debugger, where the page's security policy does not apply.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'] }),
  )
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  if (grave.length === 0) return
  const lines = grave.map(
    ({ id, nodes }) => `${id}: ${nodes.map((n) => `${n.target} ${n.any[0]?.message ?? ''}`).join('; ')}`,
  )
  throw new Error(lines.join('\n'))
}

export function expectNoProblems(page) {
  if (page.problems.length > 0) throw new Error(page.problems.join('\n'))
}

/** Throws when the page is wider than its window, or the orders are wider than their place. */
export async function expectNoSideways(page) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  if (over > 0) throw new Error(`${over} px wider than the window`)
  const cut = await page
    .locator('.rail, dialog[open]')
    .evaluateAll((places) => Math.max(0, ...places.map((place) => place.scrollWidth - place.clientWidth)))
  if (cut > 0) throw new Error(`the orders are ${cut} px wider than their place`)
}
