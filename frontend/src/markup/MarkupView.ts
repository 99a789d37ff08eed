import './markup.css'
import { h, type FunctionalComponent, type VNode } from 'vue'
import { parseMarkup, type MarkupNode } from './markup'

function draw(node: MarkupNode): VNode | string {
  if (typeof node === 'string') return node
  const inner = node.inner.map(draw)
  switch (node.name) {
    case 'a':
      return h('a', { href: node.href, target: '_blank', rel: 'nofollow noopener' }, inner)
    case 'img': // the attributes come before src, because they apply to its request
      return h('img', { loading: 'lazy', referrerpolicy: 'no-referrer', src: node.src, alt: node.alt })
    case 'table': // scrolls in its own box; the focus allows keys to scroll it
      return h('div', { class: 'wide-table', tabindex: 0 }, [h('table', inner)])
    default:
      return h(node.name, inner)
  }
}

/** Renders a description as shoppers see it. */
export const MarkupView: FunctionalComponent<{ html: string }> = ({ html }) =>
  h('div', { class: 'markup' }, parseMarkup(html).map(draw))
