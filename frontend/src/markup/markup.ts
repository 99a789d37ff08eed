// Parses the limited HTML of descriptions into a tree. The page renders the tree itself and never inserts HTML.

/** The allowed elements; the server uses the same list. */
// prettier-ignore
const ELEMENTS = [
  'p', 'br', 'strong', 'em', 'ul', 'ol', 'li', 'a', 'h2', 'h3', 'h4', 'table', 'thead', 'tbody', 'tr', 'th', 'td',
  'blockquote', 'hr', 'img',
] as const
export type ElementName = (typeof ELEMENTS)[number]

export interface MarkupElement {
  readonly name: ElementName
  /** Only for links. */
  readonly href?: string
  /** Only for pictures. */
  readonly src?: string
  readonly alt?: string
  readonly inner: readonly MarkupNode[]
}
export type MarkupNode = string | MarkupElement

/** Elements whose content is not shown. */
const DROPPED = 'script, style, title, textarea, iframe, noscript, template, object'
/** Removed elements that do not separate words. */
const INLINE =
  'a, abbr, b, bdi, bdo, big, cite, code, del, font, i, ins, mark, picture, s, small, span, sub, sup, u'
/** The pictures of this shop. */
const OWN_PICTURE = /^\/(images|products)\/[A-Za-z0-9][\w.-]*$/
/** Maximum depth; deeper elements keep only their text. It limits the recursion of the renderer. */
const MAX_DEPTH = 24

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string }
}

/**
 * The security policy of the console allows the parser only HTML of this policy. HTML needs no change for it: the
 * parsed document is inert, so no script runs and nothing is loaded, and only the allowed elements leave this module.
 */
const trusted = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('markup', {
  createHTML: (html) => html,
})

/** The target of a link or the address of a picture, if it is allowed: https without credentials. */
function secureURL(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined
  const { protocol, username, password, href } = new URL(address)
  return protocol === 'https:' && !username && !password ? href : undefined
}

function convert(node: ChildNode, depth: number): MarkupNode[] {
  if (node.nodeType === Node.TEXT_NODE) return [node.nodeValue ?? '']
  if (!(node instanceof Element)) return []
  const inner = [...node.childNodes].flatMap((child) => convert(child, depth + 1))
  const name = depth < MAX_DEPTH && ELEMENTS.find((allowed) => allowed === node.localName)
  if (name === 'img') {
    const address = node.getAttribute('src') ?? ''
    const src = OWN_PICTURE.test(address) ? address : secureURL(address)
    return src ? [{ name, src, alt: node.getAttribute('alt') ?? '', inner }] : [' ']
  }
  const href = name === 'a' ? secureURL(node.getAttribute('href') ?? '') : undefined
  if (href) return [{ name: 'a', href, inner }]
  if (name && name !== 'a') return [{ name, inner }]
  return node.matches(INLINE) ? inner : [' ', ...inner, ' ']
}

/** Parses a description. Elements that are not allowed keep only their text; blocks keep a space around it. */
export function parseMarkup(html: string): MarkupNode[] {
  const page = `<body>${html}` // With this tag, no element of the description becomes a part of the head.
  const { body } = new DOMParser().parseFromString(trusted?.createHTML(page) ?? page, 'text/html')
  for (const element of body.querySelectorAll(DROPPED)) element.remove()
  return [...body.childNodes].flatMap((node) => convert(node, 0))
}
