// node kubernetes.mjs <manifests.yaml: validates every object against the schema of its kind. The schemas accept
// unknown fields; main.go rejects them.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseAllDocuments } from 'yaml'

const root = dirname(createRequire(import.meta.url).resolve('kubernetes-models/package.json'))
let wrong = 0
let seen = 0
for (const doc of parseAllDocuments(readFileSync(0, 'utf8'))) {
  const object = doc.toJS()
  if (!object) continue
  const name = `${object.kind}/${object.metadata?.name}`
  const report = (problem) => {
    wrong++
    console.error(`${name}: ${problem}`)
  }
  doc.errors.forEach((e) => report(e.message))
  seen++
  try {
    const file = join(root, object.apiVersion, `${object.kind}.js`)
    const model = await import(pathToFileURL(file))
    new model[object.kind](object).validate()
  } catch (e) {
    report(e.message)
  }
}
console.log(`${seen} objects, ${wrong} wrong`)
process.exit(wrong || !seen ? 1 : 0)
