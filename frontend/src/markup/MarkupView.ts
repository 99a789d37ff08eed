import { h, type FunctionalComponent, type VNode } from 'vue'
import { parseMarkup, type MarkupNode } from './markup'

function draw(node: MarkupNode): VNode | string {
  if (typeof node === 'string') return node
  const link = node.href ? { href: node.href, target: '_blank', rel: 'nofollow noopener' } : null
  return h(node.name, link, node.inner.map(draw))
}

/** Renders a description as shoppers see it. */
export const MarkupView: FunctionalComponent<{ html: string }> = ({ html }) =>
  h('div', { class: 'markup' }, parseMarkup(html).map(draw))
