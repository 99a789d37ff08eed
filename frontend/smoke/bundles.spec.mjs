import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { test } from './fixtures.mjs'

const dist = new URL('../dist/', import.meta.url)
/** The limit of the scripts that the page loads first, compressed with gzip, in bytes. */
const FIRST_LOAD = 64_700
const OF_CONSOLE = /el-button|uplot|u-axis|element-plus/

/**
 * Checks with the build manifests that no chunk of the shopper's page contains console code, and that the console has
 * its own chunks.
 */
test('bundles', async () => {
  const read = (name) => readFileSync(new URL(name, dist), 'utf8')
  const reachable = (manifest, html, dynamic = true) => {
    const parts = JSON.parse(read(manifest))
    const page = read(html)
    const entry = Object.keys(parts).find((name) => page.includes(`src="/${parts[name].file}"`))
    const found = new Set()
    const files = new Set()
    const visit = (name) => {
      if (found.has(name)) return
      found.add(name)
      const { file, css = [], assets = [], imports = [], dynamicImports = [] } = parts[name]
      for (const one of [file, ...css, ...assets]) files.add(one)
      for (const one of dynamic ? [...imports, ...dynamicImports] : imports) visit(one)
    }
    visit(entry)
    return [...files].filter((file) => /\.(js|css)$/.test(file))
  }
  await test.step('the first scripts of the page are small', () => {
    const files = reachable('.vite/manifest.json', 'index.html', false)
    const scripts = files.filter((file) => file.endsWith('.js') && !file.includes('worker'))
    const size = scripts.reduce((sum, file) => sum + gzipSync(read(file), { level: 9 }).length, 0)
    if (scripts.length === 0 || size > FIRST_LOAD)
      throw new Error(`${scripts.length} scripts have ${size} bytes, ${FIRST_LOAD} is the limit`)
  })
  await test.step("the shopper's page does not load Element Plus or uPlot", async () => {
    const shoppers = reachable('.vite/manifest.json', 'index.html')
    const consoleFiles = shoppers.filter((file) => file.startsWith('console/') || OF_CONSOLE.test(read(file)))
    if (shoppers.length < 2 || consoleFiles.length > 0)
      throw new Error(`of ${shoppers.length} files: ${consoleFiles}`)
    const ours = reachable('.vite/console.json', 'console.html')
    if (!ours.some((file) => /el-button/.test(read(file))) || !ours.some((file) => /u-axis/.test(read(file))))
      throw new Error('the console bundle contains neither of them, so the patterns of this check are wrong')
    const shared = ours.filter((file) => shoppers.includes(file))
    if (shared.length > 0) throw new Error(`shared: ${shared}`)
  })
})
