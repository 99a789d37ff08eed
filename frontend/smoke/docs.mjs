import { expectNoProblems, soon } from './browser.mjs'

/** The API documentation of a real server opens under its security policy. */
export function docs(report, browser, base) {
  return report.check('docs: the page lists operations and violates no security policy', async () => {
    const page = await browser.open(`${base}/docs`)
    await soon(page.locator('aside').getByRole('link', { name: 'POST Buy' }))
    expectNoProblems(page)
  })
}
