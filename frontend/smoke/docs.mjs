import { expectAccessible, expectNoProblems, expectNoSideways, appearances } from './browser.mjs'

/** The page about the API, as the real server answers it: readable in every size and theme, within its security policy. */
export function docs(report, browser, base) {
  return appearances.map(
    ([size, theme]) =>
      () =>
        read(report, browser, base, size, theme),
  )
}

async function read(report, browser, base, size, theme) {
  const name = `docs-${size}-${theme}`
  await report.check(`${name}: complete, fits, nothing is refused, and accessible`, async () => {
    const page = await browser.open(`${base}/docs`, size, theme)
    await page.getByRole('heading', { name: 'Stampede for programs' }).waitFor()
    await page.locator('aside').getByRole('link', { name: 'POST Buy' }).click()
    await page.locator('#http-buy').getByText('Choose a random').waitFor()
    await page.locator('#http-buy summary').click()
    await page.locator('#http-buy pre').first().waitFor()
    await browser.shoot(page, name)
    await expectNoSideways(page)
    // A long page, which takes long to judge: once in each size, and once in each theme.
    if ((size === 'phone') === (theme === 'light')) await expectAccessible(page)
    for (const file of ['openapi', 'asyncapi']) {
      const raw = await page.request.get(`${base}/docs/${file}.yaml`)
      if (!raw.ok() || !(await raw.text()).startsWith(file)) throw new Error(`${file}.yaml: ${raw.status()}`)
    }
    expectNoProblems(page)
    await page.context().close()
  })
}
