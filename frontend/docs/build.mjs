/**
 * Writes the API documentation into dist/docs as static pages without scripts: openapi.yaml becomes index.html,
 * PROTOCOL.md becomes socket.html. `npm run build` runs it after vite, which empties dist.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Marked } from 'marked'
import { parse } from 'yaml'

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const dist = new URL('../dist/docs/', import.meta.url)
const openAPI = parse(read('app/api/spec/openapi.yaml'))

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => entities[c])
const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '-')
const link = (anchor, text) => `<a href="#${anchor}">${escape(text)}</a>`

/** Markdown without raw HTML. Headings get anchors, wide tables scroll by themselves. */
const markdown = new Marked({
  renderer: {
    html: ({ text }) => escape(text),
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
  },
  hooks: {
    postprocess: (html) => html.replace(/<table>.*?<\/table>/gs, '<div class="wide" tabindex="0">$&</div>'),
  },
})
const prose = (text) => markdown.parse(text ?? '')
const inline = (text) => markdown.parseInline(text ?? '')

/** The object that a local reference names; other objects are returned as they are. */
function follow(node) {
  const [, ...path] = node.$ref?.split('/') ?? []
  return path.length > 0 ? path.reduce((at, name) => at[name], openAPI) : node
}

const BOUNDS = 'minimum maximum minLength maxLength minItems maxItems pattern default'.split(' ')

/** The type of a schema in a few words, with a link to a schema that has a section. */
function kind(schema = {}) {
  const name = schema.$ref?.split('/').at(-1)
  if (name) return link(`schema-${name}`, name)
  if (schema.allOf) return schema.allOf.map(kind).join(' and ')
  if (schema.oneOf) return schema.oneOf.map(kind).join(' or ')
  if (schema.enum) return schema.enum.map((value) => `<code>${escape(value)}</code>`).join(' | ')
  const bounds = BOUNDS.filter((name) => schema[name] !== undefined)
    .map((name) => `, ${name} <code>${escape(schema[name])}</code>`)
    .join('')
  if (schema.type === 'array') return `list of ${kind(schema.items)}${bounds}`
  const members = schema.additionalProperties
  return (typeof members === 'object' ? `map to ${kind(members)}` : escape(schema.type ?? 'any')) + bounds
}

/** A parameter or field. An object without a name of its own shows its fields below it. */
function field({ name, in: where = '', required, schema, description = schema.description }) {
  const label = `<code>${escape(name)}</code> <small>${where} ${required ? 'required' : ''}</small>`
  const text = `<span class="kind">${kind(schema)}</span> ${inline(description)}`
  return `<dt>${label}</dt><dd>${text}${fields(schema.items ?? schema)}</dd>`
}

const list = (lines) => (lines.length > 0 ? `<dl>${lines.join('\n')}</dl>` : '')

function fields({ properties = {}, required = [], allOf = [] }) {
  const own = Object.entries(properties)
  const lines = own.map(([name, schema]) => field({ name, schema, required: required.includes(name) }))
  return list(lines) + allOf.map(fields).join('')
}

/** The body of a request or of a response. */
function body(title, node) {
  const { description, content = {} } = follow(node)
  const types = Object.entries(content).map(([type, { schema = {} }]) =>
    type === 'application/json' ? kind(schema) + fields(schema) : `<code>${escape(type)}</code>`,
  )
  return `<h4>${title}</h4><div>${types.join(' or ')} ${inline(description)}</div>`
}

function operation({ method, path, op }) {
  const token = ['', 'token required', 'token optional'][op.security?.length ?? 0]
  const parameters = list((op.parameters ?? []).map(follow).map(field))
  const responses = Object.entries(op.responses).filter(([status]) => status !== 'default')
  const codes = (op['x-errors'] ?? []).map((code) => link(`code-${code}`, code)).join(', ')
  return `<section id="${op.operationId}">
<h3><b>${method}</b> <code>${escape(path)}</code> <small>${token}</small></h3>
<p><strong>${inline(op.summary)}</strong></p>
${prose(op.description)}
${parameters && '<h4>Parameters</h4>' + parameters}
${op.requestBody ? body('Request', op.requestBody) : ''}
${responses.map(([status, response]) => body(`Response ${status}`, response)).join('\n')}
${codes && `<h4>Errors</h4><p>${codes}</p>`}
</section>`
}

function page(file, title, nav, main) {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<link rel="icon" href="/favicon.svg">
<link rel="stylesheet" href="/docs/docs.css">
<header><a href="/">Stampede</a> <a href="/docs">HTTP</a> <a href="/docs/socket">Socket</a>
<a href="/docs/openapi.yaml">openapi.yaml</a> <a href="/docs/asyncapi.yaml">asyncapi.yaml</a></header>
<nav aria-label="Contents" tabindex="0">${nav}</nav>
<main>${main}</main>
</html>
`
  writeFileSync(new URL(file, dist), html)
}

const operations = Object.entries(openAPI.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, op]) => ({ method, path, op })),
)
const groups = openAPI.tags.map(({ name, description }) => {
  const members = operations.filter(({ op }) => op.tags.includes(name))
  const links = members.map(({ op }) => `<li>${link(op.operationId, op.summary)}</li>`).join('')
  const main = `<h2 id="${slug(name)}">${name}</h2>${prose(description)}${members.map(operation).join('\n')}`
  return { main, nav: `<p>${link(slug(name), name)}</p><ul>${links}</ul>` }
})
const codes = Object.entries(openAPI.components.schemas.Code['x-codes']).map(
  ([code, { status, means, do: advice }]) =>
    `<dt id="code-${code}"><code>${code}</code> <small>${status}</small></dt><dd>${inline(`${means} ${advice}`)}</dd>`,
)
const schemas = Object.entries(openAPI.components.schemas).map(
  ([name, schema]) => `<section id="schema-${name}"><h3>${name}</h3>
<p><span class="kind">${kind(schema)}</span> ${inline(schema.description)}</p>${fields(schema)}</section>`,
)
const protocol = read('realtime/PROTOCOL.md')
const headings = protocol.match(/^## .*/gm).map((line) => line.slice('## '.length))

mkdirSync(dist, { recursive: true })
copyFileSync(new URL('docs.css', import.meta.url), new URL('docs.css', dist))
page(
  'index.html',
  'Stampede: HTTP API',
  groups.map(({ nav }) => nav).join('\n') +
    `<p>${link('codes', 'Error codes')}</p><p>${link('schemas', 'Schemas')}</p>`,
  `<h1>HTTP API</h1>${prose(openAPI.info.description)}
${groups.map(({ main }) => main).join('\n')}
<h2 id="codes">Error codes</h2>${list(codes)}
<h2 id="schemas">Schemas</h2>${schemas.join('\n')}`,
)
const contents = headings.map((heading) => `<p>${link(slug(heading), heading)}</p>`).join('')
page('socket.html', 'Stampede: socket protocol', contents, prose(protocol))
