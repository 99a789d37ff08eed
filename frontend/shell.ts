import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Plugin } from 'vite'

/** Files of the folder public that the shell needs. */
const PUBLIC = ['/favicon.svg', '/manifest.webmanifest']

/** Writes the service worker with the paths of the built files. */
export function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    apply: 'build',
    enforce: 'post', // after the style sheets
    generateBundle(_, bundle) {
      const built = Object.keys(bundle).filter((name) => /^assets\/.*\.(js|css)$/.test(name))
      const files = [...built.map((name) => `/${name}`), ...PUBLIC]
      const source = readFileSync('sw.js', 'utf8')
      const hash = createHash('sha256').update(files.join())
      // The names of these files contain no hash.
      for (const path of ['index.html', ...PUBLIC.map((name) => `public${name}`)])
        hash.update(readFileSync(path))
      const build = hash.digest('hex').slice(0, 8)
      this.emitFile({
        type: 'asset',
        fileName: 'sw.js',
        source: `const BUILD = '${build}'\nconst FILES = ${JSON.stringify(files)}\n${source}`,
      })
    },
  }
}
