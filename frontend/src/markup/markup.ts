// Parses the limited HTML of descriptions into a tree. The page renders the tree itself and never passes HTML to the
// browser.

/** The allowed elements; the server uses the same list. */
const ELEMENTS = ['p', 'br', 'strong', 'em', 'ul', 'ol', 'li', 'a'] as const
export type ElementName = (typeof ELEMENTS)[number]

export interface MarkupElement {
  readonly name: ElementName
  /** Only for links. */
  readonly href?: string
  readonly inner: readonly MarkupNode[]
}
export type MarkupNode = string | MarkupElement

const TAG = /<!--[\s\S]*?-->|<(\/?)([a-z][a-z0-9]*)\b([^>]*)>/gi
/** Elements whose content is not shown. */
const DROPPED = /<(script|style|title|textarea|iframe|noscript|template|object)\b[\s\S]*?(<\/\1\s*>|$)/gi
const HREF = /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i
const ENTITY = /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

function decode(text: string): string {
  return text.replace(ENTITY, (all, decimal?: string, hex?: string, name?: string) => {
    if (name) return NAMED[name.toLowerCase()] ?? all
    const code = decimal ? Number(decimal) : parseInt(hex ?? '', 16)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
}

/** The target of a link, if it is allowed: https without credentials. */
function linkOf(attributes: string): string | undefined {
  const [, double, single, bare] = HREF.exec(attributes) ?? []
  const address = decode(double ?? single ?? bare ?? '')
  if (!URL.canParse(address)) return undefined
  const { protocol, username, password, href } = new URL(address)
  return protocol === 'https:' && !username && !password ? href : undefined
}

/** Maximum depth; deeper elements keep only their text. It limits the recursion of the renderer. */
const MAX_DEPTH = 24

interface Open {
  name: ElementName | undefined
  href?: string | undefined
  inner: MarkupNode[]
}

/**
 * Parses a description. Elements that are not allowed keep only their text. An unclosed element ends with its parent.
 */
export function parseMarkup(html: string): MarkupNode[] {
  const bare = html.replace(DROPPED, '')
  const root: Open = { name: undefined, inner: [] }
  const open: Open[] = [root]
  const top = (): Open => open.at(-1) as Open

  function close(): void {
    const done = open.pop() as Open
    if (!done.name) return void top().inner.push(...done.inner)
    const { name, href, inner } = done
    top().inner.push(href === undefined ? { name, inner } : { name, href, inner })
  }
  function addText(text: string): void {
    if (text) top().inner.push(decode(text))
  }

  let read = 0
  for (const found of bare.matchAll(TAG)) {
    const [all, slash, tag = '', attributes = ''] = found
    addText(bare.slice(read, found.index))
    read = found.index + all.length
    const name = ELEMENTS.find((known) => known === tag.toLowerCase())
    if (name === 'br' && !slash) top().inner.push({ name, inner: [] })
    if (!name || name === 'br') continue
    if (!slash) {
      if (open.length > MAX_DEPTH) continue
      const href = name === 'a' ? linkOf(attributes) : undefined
      open.push({ name: name === 'a' && !href ? undefined : name, href, inner: [] })
      continue
    }
    const at = open.findLastIndex((one) => one.name === name || (name === 'a' && one !== root && !one.name))
    while (at > 0 && open.length > at) close()
  }
  addText(bare.slice(read))
  while (open.length > 1) close()
  return root.inner
}
