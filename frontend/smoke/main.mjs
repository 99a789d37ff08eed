/**
 * The browser smoke test. `npm run smoke -- <base url>` goes through the main job on a running server; without an
 * address the stand-in is used, also for states that are hard to bring about on a real server. A second address is a
 * demo without simulated shoppers, on which orders are paid.
 * SMOKE_MAIL and SMOKE_REDIS are the folder of its mails and its embedded Redis, host:port: then somebody makes an account there.
 * SMOKE_SHOTS names a folder for screenshots, CHROMIUM the browser.
 */
import { Browser, sizes } from './browser.mjs'
import { accounts, accountsOnStandIn } from './account.mjs'
import { challenge } from './challenge.mjs'
import { codes } from './codes.mjs'
import { cost } from './cost.mjs'
import { docs } from './docs.mjs'
import { hardStates } from './hardstates.mjs'
import { hostile } from './hostile.mjs'
import { journey } from './journey.mjs'
import { line } from './line.mjs'
import { paying } from './paying.mjs'
import { presses } from './presses.mjs'
import { demoReader } from './mailbox.mjs'
import { Report } from './report.mjs'
import { StandIn } from './standin/server.mjs'
import { endedGuest, tabs } from './tabs.mjs'
import { touch } from './touch.mjs'

const [address, quiet] = process.argv.slice(2)
const report = new Report()
const standIn = address ? undefined : new StandIn()
const base = address ?? (await standIn.start())
const browser = await Browser.launch()

/** Each mostly waits, and for a server of its own: two go side by side, which two processors bear. */
const sideBySide = [
  async () => {
    for (const size of Object.keys(sizes)) {
      for (const theme of ['light', 'dark']) await journey(report, browser, base, size, theme)
    }
    await tabs(report, browser, base)
    if (address) await docs(report, browser, base) // the stand-in has no such page
    if (quiet) await paying(report, browser, quiet)
    const { SMOKE_MAIL: mail, SMOKE_REDIS: redis } = process.env
    if (quiet && mail && redis) {
      const visitor = { size: 'desktop', theme: 'light', lang: 'en' }
      await accounts(report, browser, quiet, demoReader(mail, redis), visitor)
    }
  },
  async () => {
    if (standIn) {
      await hardStates(report, browser)
      await codes(report, browser)
    }
    // What hurt people once; each brings its own stand-in.
    await hostile(report, browser)
    await touch(report, browser)
    await endedGuest(report, browser)
    await presses(report, browser)
    await line(report, browser)
    await challenge(report, browser)
    await accountsOnStandIn(report, browser)
  },
]
try {
  const ended = await Promise.allSettled(sideBySide.map((suite) => suite()))
  for (const { reason } of ended.filter(({ status }) => status === 'rejected')) {
    await report.check('the smoke test itself', () => Promise.reject(reason))
  }
  await cost(report, browser) // measures, so nothing runs beside it
} catch (error) {
  await report.check('the smoke test itself', () => Promise.reject(error))
} finally {
  await browser.close()
  standIn?.close()
  report.end()
}
