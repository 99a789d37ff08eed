// Parses the runbook's Markdown into blocks. Unknown syntax stays text, and no input becomes HTML.

/** An inline element. */
export type Span =
  | { readonly kind: 'text' | 'code' | 'strong'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly to: string }

/** A block element. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly id: string; readonly spans: readonly Span[] }
  | { readonly kind: 'paragraph'; readonly spans: readonly Span[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: 'table'
      readonly head: readonly (readonly Span[])[]
      readonly rows: readonly (readonly (readonly Span[])[])[]
    }

const HEADING = /^(#{1,6}) (.+)$/
const ITEM = /^([-*]|\d{1,3}\.) +/
const FENCE = /^```/
const INDENT = 4

/** The anchor of a heading, in the format of GitHub. */
export function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

const SPANS = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g

/** Splits a text into spans. */
export function spansOf(text: string): Span[] {
  const spans: Span[] = []
  let end = 0
  for (const found of text.matchAll(SPANS)) {
    if (found.index > end) spans.push({ kind: 'text', text: text.slice(end, found.index) })
    const [all, code, strong, label, to] = found
    if (code !== undefined) spans.push({ kind: 'code', text: code })
    else if (strong !== undefined) spans.push({ kind: 'strong', text: strong })
    else spans.push({ kind: 'link', text: label ?? '', to: to ?? '' })
    end = found.index + all.length
  }
  if (end < text.length) spans.push({ kind: 'text', text: text.slice(end) })
  return spans
}

const cells = (line: string): Span[][] =>
  line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => spansOf(cell.trim().replaceAll('\\|', '|')))

/** Takes lines from the front while they belong to one block. */
class Lines {
  #at = 0
  readonly #all: readonly string[]
  constructor(all: readonly string[]) {
    this.#all = all
  }
  get done(): boolean {
    return this.#at >= this.#all.length
  }
  get next(): string {
    return this.#all[this.#at] ?? ''
  }
  get behind(): string {
    return this.#all[this.#at + 1] ?? ''
  }
  take(): string {
    return this.#all[this.#at++] ?? ''
  }
  takeWhile(belongs: (line: string) => boolean): string[] {
    const taken: string[] = []
    while (!this.done && belongs(this.next)) taken.push(this.take())
    return taken
  }
}

const isBlank = (line: string): boolean => line.trim() === ''
const isCode = (line: string): boolean => line.startsWith(' '.repeat(INDENT))
const isTable = (line: string): boolean => line.startsWith('|')
const beginsBlock = (line: string): boolean =>
  isBlank(line) || isTable(line) || FENCE.test(line) || ITEM.test(line) || HEADING.test(line)

/** An indented code block continues across blank lines if more indented code follows. */
function indented(lines: Lines): Block {
  const taken = lines.takeWhile((line) => isCode(line) || isBlank(line))
  return {
    kind: 'code',
    text: taken
      .map((line) => line.slice(INDENT))
      .join('\n')
      .trimEnd(),
  }
}

function fenced(lines: Lines): Block {
  lines.take()
  const taken = lines.takeWhile((line) => !FENCE.test(line))
  lines.take()
  return { kind: 'code', text: taken.join('\n') }
}

function table(lines: Lines): Block {
  const [head = '', , ...rows] = lines.takeWhile(isTable)
  return { kind: 'table', head: cells(head), rows: rows.map(cells) }
}

/** A list item continues in lines that are indented at least as far as its text, also after a blank line. */
function item(lines: Lines): Block[] {
  const first = lines.take()
  const width = ITEM.exec(first)?.[0].length ?? 0
  const inner = ' '.repeat(width)
  const more = lines.takeWhile(
    (line) => line.startsWith(inner) || (isBlank(line) && lines.behind.startsWith(inner)),
  )
  return parse([first.slice(width), ...more.map((line) => line.slice(width))])
}

function listOf(lines: Lines): Block {
  const ordered = /^\d/.test(lines.next)
  const items: Block[][] = []
  while (!lines.done) {
    if (ITEM.test(lines.next) && /^\d/.test(lines.next) === ordered) items.push(item(lines))
    else if (isBlank(lines.next) && ITEM.test(lines.behind)) lines.take()
    else break
  }
  return { kind: 'list', ordered, items }
}

function parse(all: readonly string[]): Block[] {
  const lines = new Lines(all)
  const blocks: Block[] = []
  while (!lines.done) {
    const heading = HEADING.exec(lines.next)
    if (isBlank(lines.next)) lines.take()
    else if (heading) {
      const [, marks = '', text = ''] = heading
      lines.take()
      blocks.push({ kind: 'heading', level: marks.length, id: slug(text), spans: spansOf(text) })
    } else if (isCode(lines.next)) blocks.push(indented(lines))
    else if (FENCE.test(lines.next)) blocks.push(fenced(lines))
    else if (isTable(lines.next)) blocks.push(table(lines))
    else if (ITEM.test(lines.next)) blocks.push(listOf(lines))
    else {
      const first = lines.take()
      const text = [first, ...lines.takeWhile((line) => !beginsBlock(line))]
        .map((line) => line.trim())
        .join(' ')
      blocks.push({ kind: 'paragraph', spans: spansOf(text) })
    }
  }
  return blocks
}

/** Parses the Markdown subset of the runbook. */
export function parseMarkdown(text: string): Block[] {
  return parse(text.split('\n'))
}
