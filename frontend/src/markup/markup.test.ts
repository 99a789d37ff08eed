// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { createApp, h } from 'vue'
import { MarkupView } from './MarkupView'
import { parseMarkup, type MarkupNode } from './markup'

/** Formats a tree as one line. */
function outline(nodes: readonly MarkupNode[]): string {
  return nodes
    .map((node) =>
      typeof node === 'string'
        ? node
        : `${node.name}${node.href || node.src ? `@${node.href ?? node.src}` : ''}(${node.alt ?? ''}${outline(node.inner)})`,
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
    expect(read('<h1 onclick="x()">T</h1><img src=x onerror=alert(1)>')).toBe(' T  ')
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

  it('has headings, tables, quotes and pictures', () => {
    expect(
      read('<h2>A</h2><hr><table><tr><td>RAM<td>32 GB</table><blockquote>q</blockquote><h3>b</h3><h4>c</h4>'),
    ).toBe('h2(A)hr()table(tbody(tr(td(RAM)td(32 GB))))blockquote(q)h3(b)h4(c)')
    expect(read('<img src="https://a.example/1.jpg" alt="x" srcset="y 2x" width=9 onerror=z()>')).toBe(
      'img@https://a.example/1.jpg(x)',
    )
    expect(read('<img src="/images/0a.jpg"><img src="/products/pot.svg">')).toBe(
      'img@/images/0a.jpg()img@/products/pot.svg()',
    )
  })

  it('drops pictures with forbidden addresses', () => {
    for (const src of [
      'http://a.example/1.jpg',
      '//a.example/1.jpg',
      '/\\a.example/1.jpg',
      'javascript:alert(1)',
      'data:image/png;base64,AAAA',
      'https://u:p@a.example/1.jpg',
      '/images/../console',
      '1.jpg',
      '',
    ])
      expect(read(`a<img src="${src}" alt="x">b`)).toBe('a b')
  })

  it('separates the words of dropped blocks only', () => {
    expect(read('<div>RAM</div><section>32 GB</section>')).toBe(' RAM  32 GB ')
    expect(read('<dl><dt>RAM<dd>32 GB</dl>')).toBe('  RAM  32 GB  ')
    expect(read('H<sub>2</sub>O <b>fl</b>ash')).toBe('H2O flash')
  })

  it('loads pictures late and without a referrer, and scrolls tables in their own box', async () => {
    const html =
      '<div><img src="https://a.example/1.jpg" loading="eager"></div><table><tr><td>x</td></tr></table>'
    const root = document.createElement('div')
    createApp(() => h(MarkupView, { html })).mount(root)
    const image = root.querySelector('img')
    expect(image?.getAttribute('loading')).toBe('lazy')
    expect(image?.getAttribute('referrerpolicy')).toBe('no-referrer')
    expect(image?.getAttribute('alt')).toBe('')
    expect(root.querySelector('.wide-table > table td')?.textContent).toBe('x')
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
