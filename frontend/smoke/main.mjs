/**
 * The browser tests: `npm run smoke -- <busy> <quiet> [pattern]`, called by deploy/scripts/smoke.sh. The arguments are
 * the addresses of two demos, with and without simulated shoppers, and optionally a regular expression that selects
 * parts. SMOKE_DATA and SMOKE_BUSY_REDIS are the folder and the embedded Redis (host:port) of the first demo;
 * SMOKE_MAIL and SMOKE_REDIS are the folder of the mails and the embedded Redis of the second. SMOKE_SHOTS is a folder
 * for screenshots, CHROMIUM the browser. With SMOKE_SHEETS, a folder, only the contact sheets are written. Failed
 * checks save a screenshot and a trace in .run/browser.
 */
import { dirname } from 'node:path'
import { Browser } from './browser.mjs'
import { bundles } from './bundles.mjs'
import { consoleOfShop } from './console-after.mjs'
import { catalogue } from './console-catalogue.mjs'
import { accounts, accountsOnStandIn, rareAccountStates } from './account.mjs'
import { delivery, loginToBuy, opening } from './buying.mjs'
import { barriers } from './barriers.mjs'
import { challenge } from './challenge.mjs'
import { codes } from './codes.mjs'
import { connection } from './connection.mjs'
import { badDetails, details, realDetails } from './details.mjs'
import { docs } from './docs.mjs'
import { forms } from './forms.mjs'
import { editedTexts, footer, withoutScript } from './footer.mjs'
import { hardStates } from './hardstates.mjs'
import { hostile } from './hostile.mjs'
import { journey } from './journey.mjs'
import { firstCard, line } from './line.mjs'
import { namesInConsole, namesOnPage } from './names.mjs'
import { paying } from './paying.mjs'
import { contactSheets } from './sheets.mjs'
import { attempts } from './attempts.mjs'
import { demoReader } from './mailbox.mjs'
import { Report } from './report.mjs'
import { screens } from './screens.mjs'
import { endedGuest, tabs } from './tabs.mjs'
import { banner, dialogs, doubleClick, slotChange, touch } from './touch.mjs'

/** Parallel parts: more than processors, because a part also waits. */
const LANES = 4

const [busy, quiet, pattern = ''] = process.argv.slice(2)
const { SMOKE_MAIL: mail, SMOKE_REDIS: redis, SMOKE_DATA: data, SMOKE_BUSY_REDIS: busyRedis } = process.env
const report = new Report()
const browser = await Browser.launch()
const reader = demoReader(mail, redis)

/** Both sizes, themes and languages are covered. A flow runs with one value of each. */
const phoneDark = { size: 'phone', theme: 'dark' }
const phoneLight = { size: 'phone', theme: 'light' }
const desktopDark = { size: 'desktop', theme: 'dark' }
const desktopLight = { size: 'desktop', theme: 'light' }

/** The longest first, so that all lanes end at about the same time. */
const parts = {
  'account of a shop': () => accounts(report, browser, quiet, reader, desktopLight),
  screens: () => screens(report, browser, quiet, busy),
  catalogue: () => catalogue(report, browser), // in its own shop
  'console of a shop': () => consoleOfShop(report, browser, busy, data, busyRedis),
  'paying on a desktop': () => paying(report, browser, quiet, desktopLight),
  'touch, end of a slot, phone': () => touch(report, browser, slotChange, phoneLight),
  'touch, end of a slot, desktop': () => touch(report, browser, slotChange, desktopDark),
  'account on the stand-in': () => accountsOnStandIn(report, browser, { ...phoneDark, lang: 'zh' }),
  'buying: login': () => loginToBuy(report, browser),
  'buying: delivery on a desktop': () => delivery(report, browser, quiet, desktopLight),
  'buying: delivery on a phone': () => delivery(report, browser, quiet, phoneDark),
  'buying: opening': () => opening(report, browser, quiet),
  challenge: () => challenge(report, browser),
  barriers: () => barriers(report, browser, quiet, dirname(mail), reader),
  'forms on a phone': () => forms(report, browser, quiet, reader, { ...phoneDark, lang: 'zh' }),
  'forms on a desktop': () => forms(report, browser, quiet, reader, desktopLight),
  'hard states': () => hardStates(report, browser),
  attempts: () => attempts(report, browser),
  'paying on a phone': () => paying(report, browser, quiet, phoneDark),
  line: () => line(report, browser),
  'account states': () => rareAccountStates(report, browser),
  codes: () => codes(report, browser),
  'touch, double click': () => touch(report, browser, doubleClick, phoneLight),
  'touch, dialogs': () => touch(report, browser, dialogs, phoneDark),
  'connection on a phone': () => connection(report, browser, busy, phoneDark),
  'connection on a desktop': () => connection(report, browser, busy, desktopLight),
  'touch, banner': () => touch(report, browser, banner, desktopDark),
  'journey on a desktop': () => journey(report, browser, busy, desktopLight),
  'journey on a phone': () => journey(report, browser, busy, { ...phoneDark, lang: 'zh' }),
  'details on a phone': () => details(report, browser, phoneLight),
  'details on a desktop': () => details(report, browser, { ...desktopDark, lang: 'zh' }),
  'footer on a phone': () => footer(report, browser, quiet, { ...phoneDark, lang: 'zh' }),
  'footer on a desktop': () => footer(report, browser, quiet, desktopLight),
  'names on the page': async () => {
    await namesOnPage(report, browser, busy, desktopLight)
    await namesOnPage(report, browser, busy, phoneDark)
  },
  'names in the console': () => namesInConsole(report, browser), // in its own shop
  'footer, edited texts': () => editedTexts(report, browser, busy, data),
  'footer, without JavaScript': async () => {
    await withoutScript(report, browser, quiet, phoneLight)
    await withoutScript(report, browser, quiet, desktopDark)
  },
  tabs: () => tabs(report, browser, busy, true),
  'tabs without Web Locks': () => tabs(report, browser, busy, false),
  'first card': () => firstCard(report, browser),
  hostile: () => hostile(report, browser),
  'ended guest': () => endedGuest(report, browser),
  'bad details': () => badDetails(report, browser),
  'details of a shop': () => realDetails(report, browser, busy),
  docs: () => docs(report, browser, busy),
  bundles: () => bundles(report),
}

try {
  if (process.env.SMOKE_SHEETS) {
    await contactSheets(browser, busy, process.env.SMOKE_SHEETS, data)
    process.exit()
  }
  const chosen = Object.entries(parts).filter(([name]) => new RegExp(pattern).test(name))
  await report.run(
    LANES,
    chosen.map(([, part]) => part),
  )
} finally {
  await browser.close()
  report.end()
}
