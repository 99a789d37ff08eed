import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { runbookPage } from './link'
import { parseMarkdown, slug, spansOf, type Block, type Span } from './markdown'

const read = (file: string) => readFileSync(new URL(`../../../deploy/${file}`, import.meta.url), 'utf8')
const runbook = parseMarkdown(read('RUNBOOK.md'))
const anchors = new Set(runbook.flatMap((block) => (block.kind === 'heading' ? [block.id] : [])))

function everySpan(blocks: readonly Block[]): Span[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'code') return []
    if (block.kind === 'list') return block.items.flatMap(everySpan)
    if (block.kind === 'table') return [...block.head, ...block.rows.flat()].flat()
    return [...block.spans]
  })
}

describe('the runbook', () => {
  it('contains every section that it links to', () => {
    const own = everySpan(runbook).flatMap((span) =>
      span.kind === 'link' && span.to[0] === '#' ? [span.to] : [],
    )
    expect(own.length).toBeGreaterThan(3)
    expect(own.filter((to) => !anchors.has(to.slice(1)))).toEqual([])
  })

  it('contains every section that the alert rules link to', () => {
    const named = [...read('prometheus/alerts.yml').matchAll(/RUNBOOK\.md#([\w-]+)/g)].map(
      ([, to]) => to ?? '',
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((to) => !anchors.has(to))).toEqual([])
  })

  it('has unique anchors', () => {
    const all = runbook.flatMap((block) => (block.kind === 'heading' ? [block.id] : []))
    expect(all).toHaveLength(new Set(all).size)
  })

  it('has no raw markup in its text', () => {
    const left = everySpan(runbook).filter(
      ({ kind, text }) => kind === 'text' && /\]\(|\*\*|^#|^\|/.test(text),
    )
    expect(left).toEqual([])
  })
})

describe('markdown', () => {
  it('generates the anchors of other renderers', () => {
    expect(slug('TiDB and Aurora, on paper')).toBe('tidb-and-aurora-on-paper')
    expect(slug('E-mail?')).toBe('e-mail')
  })

  it('keeps HTML as text', () => {
    expect(parseMarkdown('<img src=x onerror=alert(1)> & <b>')).toEqual([
      { kind: 'paragraph', spans: [{ kind: 'text', text: '<img src=x onerror=alert(1)> & <b>' }] },
    ])
  })

  it('splits lines into spans', () => {
    expect(spansOf('see `a*b` and **this** in [the file](X.md#y).')).toEqual([
      { kind: 'text', text: 'see ' },
      { kind: 'code', text: 'a*b' },
      { kind: 'text', text: ' and ' },
      { kind: 'strong', text: 'this' },
      { kind: 'text', text: ' in ' },
      { kind: 'link', text: 'the file', to: 'X.md#y' },
      { kind: 'text', text: '.' },
    ])
  })

  it('keeps blank lines in code and ends code before the next text', () => {
    expect(parseMarkdown('    a\n\n      b\n\ntext')).toEqual([
      { kind: 'code', text: 'a\n\n  b' },
      { kind: 'paragraph', spans: [{ kind: 'text', text: 'text' }] },
    ])
    expect(parseMarkdown('```sh\n# no heading\n```')).toEqual([{ kind: 'code', text: '# no heading' }])
  })

  it('parses items with continuation lines and code', () => {
    const [list] = parseMarkdown('- one\n  goes on\n\n      code\n\n  and on\n- two')
    expect(list).toMatchObject({ kind: 'list', ordered: false })
    const items = list?.kind === 'list' ? list.items : []
    expect(items.map((item) => item.map(({ kind }) => kind))).toEqual([
      ['paragraph', 'code', 'paragraph'],
      ['paragraph'],
    ])
  })

  it('parses tables with bars in their cells', () => {
    expect(parseMarkdown('| a | b |\n|---|---|\n| `x` | y \\| z |')).toEqual([
      {
        kind: 'table',
        head: [[{ kind: 'text', text: 'a' }], [{ kind: 'text', text: 'b' }]],
        rows: [[[{ kind: 'code', text: 'x' }], [{ kind: 'text', text: 'y | z' }]]],
      },
    ])
  })
})

it('returns the runbook page only for runbook links', () => {
  expect(runbookPage('deploy/RUNBOOK.md#the-lag-grows')).toBe('runbook#the-lag-grows')
  expect(runbookPage('https://evil.example/#x')).toBeUndefined()
  expect(runbookPage(undefined)).toBeUndefined()
})
