import { readFileSync } from 'node:fs'

const dist = new URL('../dist/', import.meta.url)
const OF_CONSOLE = /el-button|uplot|u-axis|element-plus/

/**
 * Checks with the build manifests that no chunk of the shopper's page contains console code, and that the console has
 * its own chunks.
 */
export async function bundles(report) {
  const read = (name) => readFileSync(new URL(name, dist), 'utf8')
  const reachable = (manifest, entry) => {
    const parts = JSON.parse(read(manifest))
    const found = new Set()
    const files = new Set()
    const visit = (name) => {
      if (found.has(name)) return
      found.add(name)
      const { file, css = [], assets = [], imports = [], dynamicImports = [] } = parts[name]
      for (const one of [file, ...css, ...assets]) files.add(one)
      for (const one of [...imports, ...dynamicImports]) visit(one)
    }
    visit(entry)
    return [...files].filter((file) => /\.(js|css)$/.test(file))
  }
  await report.check('no shopper loads anything of Element Plus or uPlot', async () => {
    const shoppers = reachable('.vite/manifest.json', 'index.html')
    const strange = shoppers.filter((file) => file.startsWith('console/') || OF_CONSOLE.test(read(file)))
    if (shoppers.length < 2 || strange.length > 0) throw new Error(`of ${shoppers.length} files: ${strange}`)
    const ours = reachable('.vite/console.json', 'console.html')
    if (!ours.some((file) => /el-button/.test(read(file))) || !ours.some((file) => /u-axis/.test(read(file))))
      throw new Error('they are not found in the console either: the check looks for the wrong words')
    const shared = ours.filter((file) => shoppers.includes(file))
    if (shared.length > 0) throw new Error(`shared: ${shared}`)
  })
}
