import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { test } from './fixtures.mjs'

const dist = new URL('../dist/', import.meta.url)
/** The limits of the first load of a path, in one language, compressed with gzip, in bytes. */
const LIMITS = {
  '/': { view: 'src/views/HomeView.vue', js: 80_900, css: 7_850 },
  '/sale/:id': { view: 'src/views/SaleView.vue', js: 79_800, css: 6_650 },
}
const DICTIONARIES = ['src/words/en.ts', 'src/words/zh.ts']
const OF_CONSOLE = /el-button|uplot|u-axis|element-plus/

/**
 * Checks with the build manifests that no chunk of the shopper's page contains console code, and that the console has
 * its own chunks.
 */
test('bundles', async () => {
  const read = (name) => readFileSync(new URL(name, dist), 'utf8')
  const sum = (files, compress) => files.reduce((all, file) => all + compress(read(file)).length, 0)
  const gzip = (content) => gzipSync(content, { level: 9 })
  const isCode = (file) => /\.(js|css)$/.test(file)

  /** The code files of the given parts and of the parts that they import; `dynamic`: also later. */
  const filesOf = (parts, names, dynamic = false) => {
    const found = new Set()
    const files = new Set()
    const visit = (name) => {
      if (found.has(name)) return
      found.add(name)
      const { file, css = [], assets = [], imports = [], dynamicImports = [] } = parts[name]
      for (const one of [file, ...css, ...assets]) files.add(one)
      for (const one of dynamic ? [...imports, ...dynamicImports] : imports) visit(one)
    }
    names.forEach(visit)
    return [...files].filter(isCode)
  }
  const entryOf = (parts, html) => {
    const page = read(html)
    return Object.keys(parts).find((name) => page.includes(`src="/${parts[name].file}"`))
  }
  const reachable = (manifest, html) => {
    const parts = JSON.parse(read(manifest))
    return filesOf(parts, [entryOf(parts, html)], true)
  }

  for (const [path, { view, ...limits }] of Object.entries(LIMITS))
    await test.step(`the first load of ${path} is small`, () => {
      const parts = JSON.parse(read('.vite/manifest.json'))
      for (const words of DICTIONARIES) {
        const files = filesOf(parts, [entryOf(parts, 'index.html'), view, words])
        for (const kind of ['js', 'css']) {
          const ofKind = files.filter((file) => file.endsWith(kind) && !file.includes('worker'))
          const size = sum(ofKind, gzip)
          console.log(
            `${path}, ${words}: ${kind} ${size} bytes gzip (limit ${limits[kind]}),`,
            `${sum(ofKind, brotliCompressSync)} bytes brotli, ${ofKind.length} files`,
          )
          if (size === 0 || size > limits[kind])
            throw new Error(`${ofKind} have ${size} bytes, ${limits[kind]} is the limit`)
        }
      }
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
