/**
 * The browser smoke test. `npm run smoke -- <base url>` goes through the main job on a running server; without an
 * address the stand-in is used. States that are hard to bring about on a real server are looked at on the stand-in each
 * time. A second address is a demo without simulated shoppers, on which orders are paid.
 * SMOKE_DATA is the folder of the first one, and SMOKE_BUSY_REDIS its embedded Redis: then operators look at what has happened there.
 * SMOKE_MAIL and SMOKE_REDIS are the folder of its mails and its embedded Redis, host:port: then somebody makes an account there.
 * SMOKE_SHOTS names a folder for screenshots, CHROMIUM the browser.
 */
import { dirname } from 'node:path'
import { Browser } from './browser.mjs'
import { bundles } from './bundles.mjs'
import { operators } from './console.mjs'
import { afterwards } from './console-after.mjs'
import { catalogue } from './console-catalogue.mjs'
import { consoleOnServer } from './consoleserver.mjs'
import { accounts, accountsOnStandIn } from './account.mjs'
import { barriers } from './barriers.mjs'
import { challenge } from './challenge.mjs'
import { codes } from './codes.mjs'
import { cost } from './cost.mjs'
import { details } from './details.mjs'
import { docs } from './docs.mjs'
import { hardStates } from './hardstates.mjs'
import { hostile } from './hostile.mjs'
import { journeys } from './journey.mjs'
import { sideBySide } from './lanes.mjs'
import { line } from './line.mjs'
import { paying } from './paying.mjs'
import { presses } from './presses.mjs'
import { demoReader } from './mailbox.mjs'
import { Report } from './report.mjs'
import { StandIn } from './standin/server.mjs'
import { endedGuest, tabs } from './tabs.mjs'
import { touch } from './touch.mjs'

/** How many parts go side by side. */
const LANES = 4

const [address, quiet] = process.argv.slice(2)
const report = new Report()
const standIn = address ? undefined : new StandIn()
const base = address ?? (await standIn.start())
const browser = await Browser.launch()

/** What goes side by side. Each part has a page of its own, and waits most of the time; the longest begin. */
const parts = []
const { SMOKE_MAIL: mail, SMOKE_REDIS: redis, SMOKE_DATA: data, SMOKE_BUSY_REDIS: busyRedis } = process.env
if (quiet && mail && redis) {
  const visitor = { size: 'desktop', theme: 'light', lang: 'en' }
  const reader = demoReader(mail, redis)
  parts.push(async () => {
    await accounts(report, browser, quiet, reader, visitor)
    // It changes what sales ask for; those who pay on this demo buy others.
    await barriers(report, browser, quiet, dirname(mail), reader)
    await consoleOnServer(report, browser, quiet, dirname(mail))
  })
}
if (address) parts.push(() => catalogue(report, browser)) // brings an empty shop of its own
// Soon, while the simulated shoppers have left something, and before the slot ends.
parts.push(...journeys(report, browser, base), ...tabs(report, browser, base))
if (address && data && busyRedis) parts.push(() => afterwards(report, browser, base, data, busyRedis))
parts.push(...accountsOnStandIn(report, browser), ...challenge(report, browser))
if (quiet) parts.push(...paying(report, browser, quiet))
// What is hard to bring about on a real server, and what hurt people once; each brings its own stand-in.
parts.push(...hardStates(report, browser), ...codes(report, browser))
parts.push(...touch(report, browser), ...presses(report, browser))
parts.push(...endedGuest(report, browser), ...hostile(report, browser), ...details(report, browser, base))
if (address) parts.push(...docs(report, browser, base)) // the stand-in has no such page
parts.push(() => bundles(report))

try {
  await sideBySide(report, LANES, parts)
  // How soon something is said, and what operators do while others act: not while much else computes.
  await sideBySide(report, LANES, [() => operators(report, browser), ...line(report, browser)])
  await cost(report, browser) // measures, so nothing runs beside it
} catch (error) {
  await report.check('the smoke test itself', () => Promise.reject(error))
} finally {
  await browser.close()
  standIn?.close()
  report.end()
}
