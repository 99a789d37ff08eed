/**
 * Writes the compressed forms of each text file in dist beside it: brotli as .br, gzip as .gz. The program changes
 * index.html before it sends it, so that file has no such forms. `npm run build` runs this script last.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const dist = join(import.meta.dirname, 'dist')

for (const name of readdirSync(dist, { recursive: true })) {
  if (
    !/\.(html|js|css|svg|json|webmanifest)$/.test(name) ||
    name === 'index.html' ||
    name.startsWith('.vite')
  )
    continue
  const content = readFileSync(join(dist, name))
  const forms = { br: brotliCompressSync(content), gz: gzipSync(content, { level: 9 }) } // brotli: quality 11 by default
  for (const [ending, form] of Object.entries(forms)) {
    if (form.length < content.length * 0.9) writeFileSync(join(dist, `${name}.${ending}`), form)
  }
}
