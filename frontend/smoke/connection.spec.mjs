import { live, reviewPage, soon, takeShot, until } from './browser.mjs'
import { desktopLight, phoneDark, test } from './fixtures.mjs'

/** The pause of the drain in this test, in milliseconds. */
const DRAIN_MS = 5_000
const buyable = '[data-sale] [data-action="buy"][aria-disabled="false"]'

/** The state of the connection, and settings in several tabs. */
for (const look of [phoneDark, desktopLight])
  test(`connection, ${look.size}`, async ({ open, busy: base }) => {
    const page = await open('about:blank', look)
    const context = page.context()
    const { size, theme } = look
    const banner = page.locator('.banner')
    const chart = page.locator('.board .stroke')
    let drain
    let dials = 0
    await page.routeWebSocket(/\/ws$/, (socket) => {
      dials++
      socket.connectToServer()
      drain = () => {
        socket.send(JSON.stringify({ ev: 'bye', code: 4000, retry_ms: DRAIN_MS }))
        socket.close({ code: 4000, reason: 'drain' })
      }
    })
    await page.goto(base)
    if (size === 'phone') await page.setViewportSize({ width: 320, height: 640 })
    /** Every size and theme, for review. */
    const shoot = async (state) => {
      if (!process.env.SMOKE_SHOTS) return
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme })
        await takeShot(page, `connection-${size}-${state}-${colorScheme}`)
      }
      await page.emulateMedia({ colorScheme: theme })
    }
    /** Cards and header keep their places, and the banner covers none of the page. */
    const places = () =>
      page
        .locator('header .bar button:not(.status *), .board, [data-sale]')
        .evaluateAll((all) =>
          all.map((el) => ['x', 'y'].map((side) => el.getBoundingClientRect()[side])).join(' '),
        )

    const expectPlaces = async (before) => {
      const now = await places()
      if (now !== before) throw new Error(`the page has moved from ${before} to ${now}`)
    }

    await test.step('the chart starts with its first sample', async () => {
      await live(page)
      await soon(page.locator(buyable).first())
      await page.waitForFunction(() =>
        /^M[\d.]+ [\d.]+L/.test(document.querySelector('.board .stroke')?.getAttribute('d')),
      )
      const [first] = xs(await chart.getAttribute('d')).flat()
      if (first < 150) throw new Error(`the chart starts at ${first} of 300`)
    })

    let labels, before, offlineAt
    await test.step('a lost network is shown at once, without a layout shift or an attempt', async () => {
      await page.evaluate(() => scrollTo(0, 0))
      labels = await cardLabels(page)
      before = await places()
      await context.setOffline(true)
      offlineAt = Date.now()
      await banner.getByText('You are offline').waitFor({ timeout: 1_000 })
      await expectPlaces(before)
      if (/\d/.test(await banner.innerText())) throw new Error(`it counts down: ${await banner.innerText()}`)
      if (await page.locator('.live.on').count()) throw new Error('the dot shows a live connection')
      if (dials !== 1) throw new Error(`${dials} connections were opened, want 1`)
      await reviewPage(page, `connection-${size}-${theme}-offline`)
      await shoot('offline')
    })
    await test.step('the banner covers nothing', async () => {
      const covered = await banner.evaluate((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect()
        const others = [
          ...document.querySelectorAll('header .bar :not(.status, .status *), main *, .messages *'),
        ]
        return others
          .filter((other) => !element.contains(other))
          .filter((other) => {
            const box = other.getBoundingClientRect()
            return box.width && box.left < right && box.right > left && box.top < bottom && box.bottom > top
          })
          .map((other) => other.outerHTML.slice(0, 80))
      })
      if (covered.length > 0) throw new Error(`the banner covers ${covered.join('\n')}`)
      const cut = await banner.evaluate((element) => {
        const [text, place] = [element.querySelector('p'), element.closest('.status')]
        return text.getBoundingClientRect().height - place.getBoundingClientRect().height
      })
      if (cut > 0) throw new Error(`the text is ${cut} px higher than its place`)
    })
    await test.step('the cards keep the label of the button, which is idle', async () => {
      const now = await cardLabels(page)
      if (!now.includes('Buy') || now.some((label) => label.includes('connect')))
        throw new Error(`the labels were ${labels}, are ${now}`)
      if (await page.locator(buyable).count()) throw new Error('Buy is active while offline')
    })
    await test.step('the page reconnects at once when the network is back', async () => {
      // The chart moves on without samples.
      await until(() => Date.now() > offlineAt + 3_000)
      await context.setOffline(false)
      await live(page)
      await soon(banner, 'detached')
      if (dials !== 2) throw new Error(`${dials} connections were opened, want 2`)
    })
    await test.step('the chart has a gap of the length of the pause', async () => {
      await page.waitForFunction(
        () => document.querySelector('.board .stroke').getAttribute('d').split('M').length > 2,
      )
      const [one, other] = xs(await chart.getAttribute('d'))
      const gapMs = ((other[0] - one.at(-1)) / 300) * 45_000
      if (gapMs < 2_500)
        throw new Error(`the gap is ${gapMs} ms long, want at least the 3000 ms of the pause`)
      await takeShot(page, `connection-${size}-chart`)
    })

    await test.step('a drain is shown as planned', async () => {
      before = await places()
      drain()
      await banner.getByText('moves you to another server').waitFor()
      if ((await banner.evaluate((element) => getComputedStyle(element).color)) === (await warnColour(page)))
        throw new Error('the text has the colour of a warning')
      if (!(await page.locator('[data-stock]').first().isVisible())) throw new Error('the numbers are hidden')
      await expectPlaces(before)
      await reviewPage(page, `connection-${size}-${theme}-drain`)
      await shoot('drain')
      await live(page)
      await soon(banner, 'detached')
    })
    await test.step('a dialog shows a lost network at its end, and its content stays in place', async () => {
      const dialog = page.locator('dialog[open]')
      await page.locator(size === 'phone' ? '.account' : '.address').click()
      await soon(dialog)
      await dialog.evaluate((element) => Promise.all(element.getAnimations().map(({ finished }) => finished)))
      const place = () =>
        dialog.locator('.inside').evaluate((el) => JSON.stringify(el.getBoundingClientRect()))
      const was = await place()
      await context.setOffline(true)
      await soon(dialog.locator('.banner'))
      const now = await place()
      if (now !== was) throw new Error(`the content of the dialog has moved from ${was} to ${now}`)
      await reviewPage(page, `connection-${size}-${theme}-dialog`)
      await shoot('dialog')
      await context.setOffline(false)
      await live(page)
      await soon(banner, 'detached')
      await page.keyboard.press('Escape')
    })
    await test.step('language and theme reach the other tab, in both directions', async () => {
      const other = await context.newPage()
      await other.goto(base)
      await live(other)
      const shows = (tab, lang, wanted) =>
        tab.waitForFunction(
          ([lang, wanted]) =>
            document.documentElement.lang.startsWith(lang) &&
            getComputedStyle(document.documentElement).colorScheme === wanted,
          [lang, wanted],
        )
      const opposite = theme === 'dark' ? 'light' : 'dark'
      await page.evaluate(() => document.querySelector('header .lang').click())
      await page.evaluate(() => document.querySelector('header .theme').click())
      await shows(other, 'zh', opposite)
      await other.evaluate(() => document.querySelector('header .lang').click())
      await other.evaluate(() => document.querySelector('header .theme').click())
      await shows(page, 'en', 'light dark') // follows the system again
      await shows(other, 'en', 'light dark')
      await other.close()
    })
  })

const cardLabels = (page) => page.locator('[data-sale] [data-action]').allInnerTexts()

const warnColour = (page) =>
  page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement('i'))
    probe.style.color = 'var(--warn)'
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  })

/** The horizontal positions of the samples, a list per line. */
function xs(path) {
  return path
    .split('M')
    .slice(1)
    .map((line) => [...line.matchAll(/(?:^|L)([\d.-]+) /g)].map(([, x]) => Number(x)))
}
