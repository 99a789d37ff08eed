import { join } from 'node:path'
import { test as base } from '@playwright/test'
import { NO_BLUR, STILL_DOT } from './browser.mjs'
import { demoReader } from './mailbox.mjs'
import { EmptyShop } from './program.mjs'
import { Relay } from './relay.mjs'

/** Both sizes, themes and languages are covered. A flow runs with one value of each. */
export const phoneDark = { size: 'phone', theme: 'dark' }
export const phoneLight = { size: 'phone', theme: 'light' }
export const desktopDark = { size: 'desktop', theme: 'dark' }
export const desktopLight = { size: 'desktop', theme: 'light' }

const sizes = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1440, height: 900 } },
}

/** The two demos that deploy/scripts/smoke.sh starts, with and without simulated shoppers, and what tests open. */
export const test = base.extend({
  /** URLs, data folders and embedded Redis (host:port) of the demos. */
  busy: [process.env.SMOKE_BUSY, { option: true }],
  busyData: [process.env.SMOKE_BUSY_DATA, { option: true }],
  busyRedis: [process.env.SMOKE_BUSY_REDIS, { option: true }],
  quiet: [process.env.SMOKE_QUIET, { option: true }],
  quietData: [process.env.SMOKE_QUIET_DATA, { option: true }],
  quietRedis: [process.env.SMOKE_QUIET_REDIS, { option: true }],

  /** Reads the mails and captchas of the quiet demo. */
  reader: ({ quietData, quietRedis }, use) => use(demoReader(join(quietData, 'mail'), quietRedis)),

  /** A separate, empty shop with the given settings, until the end of the test. */
  settings: [{}, { option: true }],
  shop: async ({ settings }, use) => {
    const shop = await EmptyShop.start(settings)
    await use(shop)
    await shop.stop()
  },

  /** Opens a page as `openPage`, until the end of the test. With `relayed`, its sockets go through `page.relay`. */
  open: async ({ browser }, use) => {
    const contexts = []
    await use(async (base, options) => {
      const page = await openPage(browser, contexts, options)
      if (options?.relayed) page.relay = await Relay.of(page)
      await page.goto(base)
      return page
    })
    for (const context of contexts) await context.close()
  },
})

/**
 * Opens a page with storage of its own, which collects errors. `size` is "phone" or "desktop"; `viewport` replaces its
 * width and height. Motion is reduced by default: every frame of an animation costs processor time, two thirds of the
 * page's total. `address` is the stored delivery address.
 */
async function openPage(
  browser,
  contexts,
  { size = 'desktop', viewport, theme = 'light', lang = 'en', motion = 'reduce', address } = {},
) {
  const context = await browser.newContext({
    ...sizes[size],
    ...(viewport ? { viewport } : {}),
    colorScheme: theme,
    reducedMotion: motion,
    locale: lang === 'zh' ? 'zh-CN' : 'en-GB',
  })
  contexts.push(context)
  await context.addInitScript((css) => {
    const still = new CSSStyleSheet()
    still.replaceSync(css)
    document.adoptedStyleSheets = [still]
  }, STILL_DOT + NO_BLUR)
  if (address)
    await context.addInitScript((stored) => {
      if (location.origin !== 'null') localStorage['stampede.address'] ??= JSON.stringify(stored)
    }, address)
  const page = await context.newPage()
  page.problems = []
  page.reducedMotion = motion
  page.on('console', (message) => {
    if (message.type() === 'error') page.problems.push(message.text())
  })
  page.on('pageerror', (error) => page.problems.push(String(error)))
  return page
}
