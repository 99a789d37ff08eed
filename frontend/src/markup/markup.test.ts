// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { parseMarkup, type MarkupNode } from './markup'

/** Formats a tree as one line. */
function outline(nodes: readonly MarkupNode[]): string {
  return nodes
    .map((node) =>
      typeof node === 'string'
        ? node
        : `${node.name}${node.href ? `@${node.href}` : ''}(${outline(node.inner)})`,
    )
    .join('')
}
const read = (html: string): string => outline(parseMarkup(html))

describe('a description', () => {
  it('has paragraphs, lists, emphasis and https links', () => {
    expect(read('<p>Hot &amp; <strong>fast</strong><br>x</p><ul><li>a</li><li><em>b</em></li></ul>')).toBe(
      'p(Hot & strong(fast)br()x)ul(li(a)li(em(b)))',
    )
    expect(read('<a href="https://a.example/x?y=1&amp;z=2" target="_blank">a</a>')).toBe(
      'a@https://a.example/x?y=1&z=2(a)',
    )
  })

  it('drops forbidden elements and keeps their text', () => {
    expect(read('<h1 onclick="x()">T</h1><img src=x onerror=alert(1)>')).toBe('T')
    expect(read('a<script>alert(1)</script>b<style>p{}</style>c<script>open')).toBe('abc')
    expect(read('<noscript><p>x</p></noscript><title>x</title><template>x</template><!-- x -->a')).toBe('a')
    for (const address of [
      'javascript:alert(1)',
      'http://a.example',
      '/x',
      'https://u:p@a.example',
      '&#106;avascript:1',
    ])
      expect(read(`<a href="${address}">t</a>`)).toBe('t')
  })

  it('keeps invalid markup as text', () => {
    expect(read('1 < 2 &lt;script&gt; &unknown; &#x41;&#66;')).toBe('1 < 2 <script> &unknown; AB')
  })

  it('closes open elements and ignores unmatched end tags', () => {
    expect(read('<p><strong>a</strong></em></p>b')).toBe('p(strong(a))b')
    expect(read('<ul><li>a')).toBe('ul(li(a))')
    expect(read('<a href="x">a</a><p>b</p>')).toBe('ap(b)')
  })

  it('limits the depth and keeps all text', () => {
    const deep = 500 // browsers limit it to 512
    const depth = (nodes: readonly MarkupNode[]): number =>
      Math.max(0, ...nodes.map((node) => (typeof node === 'string' ? 0 : 1 + depth(node.inner))))
    const tree = parseMarkup(`${'<em>'.repeat(deep)}in${'</em>'.repeat(deep)} out`)
    expect(depth(tree)).toBeLessThan(30)
    expect(outline(tree)).toMatch(/in.* out$/)
  })
})
