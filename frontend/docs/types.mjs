/**
 * Writes the types of all wire data into src/protocol/generated: http.ts from openapi.yaml, socket.ts from asyncapi.yaml.
 * The scripts of package.json that need the types run it first.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import { parse } from 'yaml'

const read = (path) => parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')).components
const folder = new URL('../src/protocol/generated/', import.meta.url)

async function write(file, schemas, options) {
  const document = { openapi: '3.1.0', info: { title: file, version: '1' }, components: { schemas } }
  const types = await openapiTS(document, { immutable: true, defaultNonNullable: false, ...options })
  writeFileSync(new URL(file, folder), astToString(types))
}

/** The schemas of asyncapi.yaml together with the payload of each message, which gets the name of the message. */
function socketSchemas({ schemas, messages }) {
  const payloads = Object.entries(messages).map(([name, { payload }]) => [name, payload])
  const all = JSON.stringify({ ...schemas, ...Object.fromEntries(payloads) })
  return JSON.parse(all.replace(/#\/components\/messages\/(\w+)\/payload/g, '#/components/schemas/$1'))
}

mkdirSync(folder, { recursive: true })
await write('http.ts', read('app/api/spec/openapi.yaml').schemas)
await write('socket.ts', socketSchemas(read('realtime/asyncapi.yaml')), { enumValues: true })
