import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
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

/** How often is looked at what cannot be waited for. */
const LOOK_MS = 50

/** Waits until something holds here, beside the page. */
export async function until(holds) {
  for (const end = Date.now() + PATIENCE_MS; !holds();) {
    if (Date.now() > end) throw new Error(`not so after ${PATIENCE_MS} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

export const sizes = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1440, height: 900 } },
}

/** Every size with every theme. */
export const appearances = Object.keys(sizes).flatMap((size) =>
  ['light', 'dark'].map((theme) => [size, theme]),
)

/** The style of a live dot that rests. */
export const STILL_DOT = '.live i::after { animation: none !important }'

/** Debian's Chromium without its windows, and pages in it that remember what went wrong. */
export class Browser {
  static async launch() {
    const executablePath = process.env.CHROMIUM || '/usr/bin/chromium-headless-shell'
    const browser = new Browser()
    browser.chromium = await chromium.launch({ executablePath, args: flags, headless: true })
    browser.shots = process.env.SMOKE_SHOTS
    if (browser.shots) await mkdir(browser.shots, { recursive: true })
    return browser
  }

  /**
   * A page with a storage of its own, in the given size ("phone", "desktop") and theme. It wants no motion, unless told
   * otherwise: where nothing else draws, every frame of an animation costs processor time, two thirds of all that a page
   * takes. What moves is looked at by the parts that are about it, and by the main job in light; but not the live dot, which
   * never rests and takes half a processor by itself: that one moves where its cost is looked at.
   */
  async open(base, size, colorScheme, reducedMotion = 'reduce') {
    const context = await this.chromium.newContext({
      ...sizes[size],
      colorScheme,
      reducedMotion,
      locale: 'en-GB',
    })
    await context.addInitScript((css) => {
      const still = new CSSStyleSheet()
      still.replaceSync(css)
      document.adoptedStyleSheets = [still]
    }, STILL_DOT)
    const page = await context.newPage()
    page.problems = []
    page.reducedMotion = reducedMotion
    page.on('console', (message) => {
      if (message.type() === 'error') page.problems.push(message.text())
    })
    page.on('pageerror', (error) => page.problems.push(String(error)))
    await page.goto(base)
    return page
  }

  /** Takes a picture for people to look at, if somebody wants them. */
  async shoot(page, name, options = {}) {
    if (!this.shots) return
    await page.screenshot({ path: join(this.shots, `${name}.png`), animations: 'disabled', ...options })
  }

  async close() {
    await this.chromium.close()
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
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  // The page lives on while it is judged, and may show one state first and then another: what counts is found twice.
  const grave = (await graveOn(page)).length > 0 ? await graveOn(page) : []
  await page.emulateMedia({ reducedMotion: page.reducedMotion }) // as it was opened
  if (grave.length === 0) return
  const lines = grave.map(
    ({ id, nodes }) => `${id}: ${nodes.map((n) => `${n.target} ${n.any[0]?.message ?? ''}`).join('; ')}`,
  )
  throw new Error(lines.join('\n'))
}

async function graveOn(page) {
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { resultTypes: ['violations'] }),
  )
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
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
