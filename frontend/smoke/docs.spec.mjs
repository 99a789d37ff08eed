import { expectNoProblems, expectNoSideways, soon } from './browser.mjs'
import { test } from './fixtures.mjs'

/** The two pages of the API documentation open without a console error or a violation of the security policy. */
test('docs: both pages open under the security policy', async ({ open, busy }) => {
  for (const size of ['phone', 'desktop']) {
    const page = await open(`${busy}/docs`, { size })
    await soon(page.getByRole('heading', { name: 'POST /api/v1/sales/{id}/buy' }))
    await checkPage(page)
    await page.getByRole('link', { name: 'Socket', exact: true }).click()
    await soon(page.getByRole('heading', { name: 'Close codes' }))
    await checkPage(page)
  }
})

async function checkPage(page) {
  await page.waitForLoadState() // without its styles the page is wide
  await expectNoSideways(page)
  expectNoProblems(page)
}
