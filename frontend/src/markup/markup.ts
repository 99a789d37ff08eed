// Parses the limited HTML of descriptions into a tree. The page renders the tree itself and never inserts HTML.

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

/** Elements whose content is not shown. */
const DROPPED = 'script, style, title, textarea, iframe, noscript, template, object'
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

/** The target of a link, if it is allowed: https without credentials. */
function linkOf(element: Element): string | undefined {
  const address = element.getAttribute('href') ?? ''
  if (!URL.canParse(address)) return undefined
  const { protocol, username, password, href } = new URL(address)
  return protocol === 'https:' && !username && !password ? href : undefined
}

function convert(node: ChildNode, depth: number): MarkupNode[] {
  if (node.nodeType === Node.TEXT_NODE) return [node.nodeValue ?? '']
  if (!(node instanceof Element)) return []
  if (depth >= MAX_DEPTH) return [node.textContent ?? '']
  const inner = [...node.childNodes].flatMap((child) => convert(child, depth + 1))
  const name = ELEMENTS.find((allowed) => allowed === node.localName)
  if (name !== 'a') return name ? [{ name, inner }] : inner
  const href = linkOf(node)
  return href ? [{ name, href, inner }] : inner
}

/** Parses a description. Elements that are not allowed keep only their text. */
export function parseMarkup(html: string): MarkupNode[] {
  const page = `<body>${html}` // With this tag, no element of the description becomes a part of the head.
  const { body } = new DOMParser().parseFromString(trusted?.createHTML(page) ?? page, 'text/html')
  for (const element of body.querySelectorAll(DROPPED)) element.remove()
  return [...body.childNodes].flatMap((node) => convert(node, 0))
}
