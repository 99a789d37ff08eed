import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { decodeQR } from 'qr/decode.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** The limit of a wait outside of the page, far above the needs of a busy machine. */
export const LIMIT_MS = 60_000
/** The interval of polls outside of the page. */
const POLL_MS = 50

/** Waits until a condition outside of the page holds. */
export async function until(holds) {
  for (const end = Date.now() + LIMIT_MS; !(await holds());) {
    if (Date.now() > end) throw new Error(`not true after ${LIMIT_MS} ms: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Stops the permanent animation of the live dot, which takes half a processor while the rest of the page is idle. */
export const STILL_DOT = '.live i::after { animation: none !important }'

/** Without a GPU, blurred backgrounds take nine tenths of the processor time of compositing. */
export const NO_BLUR = '*, ::backdrop { backdrop-filter: none !important }'

/** More proof of work than a browser completes during a test. */
export const ENDLESS_BITS = 31

/** A stored delivery address, for `open`: with it, orders can be paid at once. */
export const ADDRESS = { name: 'Sample Shopper', phone: '10000000000', text: '1 Sample Street' }

/** Takes a screenshot for review, if SMOKE_SHOTS names a folder. */
export async function takeShot(page, name, options = {}) {
  const folder = process.env.SMOKE_SHOTS
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled', ...options })
}

/** Checks that the page is accessible and not wider than its window; takes a screenshot. */
export async function reviewPage(page, name, options) {
  await takeShot(page, name, options)
  await expectAccessible(page)
  await expectNoSideways(page)
}

/** Waits for a state of a locator, "visible" by default. */
export const soon = (locator, state = 'visible') => locator.waitFor({ state })

/** Waits until the page is connected. */
export const live = (page) => soon(page.locator('.live.on'))

/** Returns from another page to the slots. */
export async function toShop(page) {
  await page.locator('header .home').click()
  await soon(page.locator('[data-sale]').first())
}

/** Clicks Buy on the last card until an order exists, and returns its id. Other shoppers may take a unit first. */
export async function buy(page, cards = page.locator('[data-sale]')) {
  const order = page.locator('[data-order][data-state="pending"]').first()
  for (let tries = 1; ; tries++) {
    await cards.locator('[data-action="buy"][aria-disabled="false"]').last().click()
    try {
      await order.waitFor({ state: 'attached', timeout: LIMIT_MS / 3 })
      return await order.getAttribute('data-order')
    } catch (error) {
      if (tries === 3) throw error
    }
  }
}

/** The button of the open sheet that confirms the end of an order. */
export const confirmation = (page) => page.locator('dialog[open] [type=submit]')

/** Reads the QR code from a screenshot of an element, as a camera does. */
export async function scan(page, locator) {
  const picture = await locator.screenshot({ animations: 'disabled' })
  // A separate page decodes it, because the shop's security policy does not apply there.
  const blankPage = await page.context().newPage()
  const { data, ...size } = await blankPage.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
    const { width, height } = bitmap
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(bitmap, 0, 0)
    const { data } = canvas.getImageData(0, 0, width, height)
    return { width, height, data: data.reduce((text, byte) => text + String.fromCharCode(byte), '') }
  }, picture.toString('base64'))
  await blankPage.close()
  return decodeQR({ ...size, data: Uint8Array.from(Buffer.from(data, 'latin1')) })
}

/** Throws if axe finds a serious or critical violation. */
export async function expectAccessible(page) {
  // A button that has just become Pay still changes its colours.
  await page.waitForFunction(() => !document.querySelector('.pay.guarded'))
  // axe cannot check the contrast of an element that is fading.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.evaluate(() => {
    const moving = document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity)
    for (const animation of moving) animation.finish() // reduced motion does not end running animations
  })
  // Evaluated through the debugger, because the page's security policy does not apply there.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  // The page may change during the analysis, so only a violation that is found twice counts.
  const seriousIssues = (await seriousIssuesOn(page)).length > 0 ? await seriousIssuesOn(page) : []
  await page.emulateMedia({ reducedMotion: page.reducedMotion }) // restores the initial setting
  if (seriousIssues.length === 0) return
  const lines = seriousIssues.map(
    ({ id, nodes }) => `${id}: ${nodes.map((n) => `${n.target} ${n.any[0]?.message ?? ''}`).join('; ')}`,
  )
  throw new Error(lines.join('\n'))
}

/**
 * WCAG A and AA, and accessible names of dialogs. Style sheets are not requested again. Only violations include
 * details.
 */
const AXE = {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] },
  rules: { 'aria-dialog-name': { enabled: true } },
  resultTypes: ['violations'],
  preload: false,
}

async function seriousIssuesOn(page) {
  const { violations } = await page.evaluate((given) => globalThis.axe.run(document, given), AXE)
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

export function expectNoProblems(page) {
  if (page.problems.length > 0) throw new Error(page.problems.join('\n'))
}

/**
 * Throws if the page is wider than its screen, or the order list is wider than its container. A mobile browser zooms out
 * of a wide page, which enlarges `innerWidth`.
 */
export async function expectNoSideways(page) {
  const over = await page.evaluate(
    (width) => document.documentElement.scrollWidth - Math.min(width, innerWidth, screen.width),
    page.viewportSize().width,
  )
  if (over > 0) throw new Error(`${over} px wider than the window`)
  const cut = await page
    .locator('.rail, dialog[open]')
    .evaluateAll((places) => Math.max(0, ...places.map((place) => place.scrollWidth - place.clientWidth)))
  if (cut > 0) throw new Error(`the orders are ${cut} px wider than their place`)
}
