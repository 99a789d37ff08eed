import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { order } from '../testing/samples'
import { Malformed, parseFrame, parseReply } from './parse'
import type { Op, ServerFrame } from './types'

interface Golden {
  name: string
  direction: 'client' | 'server'
  frame: { id?: number; ok?: unknown; error?: unknown; ev?: string; op?: string }
}

/** The golden frames. The tests of the server check that it writes them; this test checks that the page parses them. */
const folder = join(import.meta.dirname, '../../../realtime/testdata/protocol')
/** Frames for operators, which this page does not parse. */
const ofOperators = ['board.json']
const files = readdirSync(folder).filter((name) => name.endsWith('.json') && !ofOperators.includes(name))
const replyOps = [
  'hello',
  'renew',
  'time',
  'watch',
  'unwatch',
  'buy',
  'cancel',
  'pay',
  'address',
  'refund',
  'orders',
  'pass',
  'solve',
  'seen',
]

function goldenOf(file: string): Golden[] {
  const content = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Golden | Golden[]
  return Array.isArray(content) ? content : [content]
}

function event(frame: ServerFrame) {
  if (frame.kind !== 'event') throw new Error(`a frame of kind ${frame.kind}`)
  return frame.event
}

describe('golden frames', () => {
  it('exist for every op and event', () => {
    for (const op of replyOps) expect(files).toContain(`${op}.json`)
    for (const ev of ['tick', 'slot', 'sale', 'order', 'notice', 'bye']) expect(files).toContain(`${ev}.json`)
  })

  for (const file of files) {
    for (const { name, frame } of goldenOf(file).filter((golden) => golden.direction === 'server')) {
      it(`${file}: ${name}`, () => {
        const parsed = parseFrame(JSON.stringify(frame))
        if (frame.ev !== undefined) {
          expect(event(parsed).ev).toBe(frame.ev)
        } else if (frame.error !== undefined) {
          // Unknown codes would have become "internal".
          expect(parsed).toMatchObject({ kind: 'error', id: frame.id, error: frame.error })
        } else {
          const op = file.replace('.json', '') as Op
          expect(replyOps).toContain(op)
          expect(parsed).toMatchObject({ kind: 'ok', id: frame.id })
          const reply = parseReply(op, frame.ok) as object
          // Every parsed field of a reply equals the field that the server wrote.
          expect(frame.ok).toMatchObject(withoutDefaults(reply, frame.ok))
        }
      })
    }
  }
})

it('events of operators are unknown to this page', () => {
  const events = ofOperators.flatMap(goldenOf).filter(({ frame }) => frame.ev !== undefined)
  expect(events.length).toBeGreaterThan(0)
  for (const { frame } of events) expect(parseFrame(JSON.stringify(frame))).toMatchObject({ kind: 'unknown' })
})

/** Drops `reset: false`, which the server omits. */
function withoutDefaults(reply: object, ok: unknown): object {
  const content = ok as Record<string, unknown>
  return Object.fromEntries(Object.entries(reply).filter(([key, value]) => value !== false || key in content))
}

const personal = { ev: 'order', cursor: 'c', key: 'k-3f9c1d2e' }

describe('frames that violate the protocol', () => {
  const good = {
    ev: 'tick',
    now: 1,
    sales: [{ id: '7', stock: 1, held: 0, sold: 0, done: 0, rate: 0, watching: 1 }],
  }

  it.each([
    ['binary', new ArrayBuffer(2)],
    ['broken JSON', '{"id":1'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a frame without an id and an event', '{"ok":{}}'],
    ['an object instead of a list', JSON.stringify({ ...good, sales: {} })],
  ])('%s is rejected', (_, data) => {
    expect(() => parseFrame(data)).toThrow(Malformed)
  })

  it.each([
    ['an id that is a number', { ...good.sales[0], id: 7 }],
    ['stock that is a string', { ...good.sales[0], stock: '1' }],
    ['a missing counter', { id: '7', stock: 1 }],
    ['null', null],
  ])('a line with %s is skipped, and the other lines are kept', (_, line) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(event(parseFrame(JSON.stringify({ ...good, sales: [line, good.sales[0]] })))).toEqual(good)
    expect(warn).toHaveBeenCalledOnce()
    warn.mockRestore()
  })

  it('an order in a state of a later version is shown as unknown, also among the missed events', () => {
    const hello = { now: 1, cursor: 'c', missed: [{ ...personal, order: order({ state: 'unknown' }) }] }
    const later = JSON.parse(JSON.stringify(hello).replace('"unknown"', '"waiting"')) as object
    expect(parseReply('hello', later)).toMatchObject({ missed: hello.missed, reset: false })
    const receipt = { order: '101', ticket: 1, place: 0, state: 'waiting' }
    expect(parseReply('buy', receipt)).toMatchObject({ order: '101', state: 'unknown' })
  })

  it('an unreadable missed event makes the result incomplete', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const missed = [
      { ...personal, order: { id: 'torn' } },
      { ev: 'fireworks' },
      null,
      { ...personal, order: order() },
    ]
    const welcome = parseReply('hello', { now: 1, cursor: 'c', missed })
    expect(welcome.missed.map((events) => events.order.id)).toEqual(['101'])
    expect(welcome.reset).toBe(true)
    warn.mockRestore()
  })

  it('a slot in a phase of a later version follows the clock', () => {
    const window = { id: '1', opens_at: 1, closes_at: 2, sales: 3 }
    const { slots } = parseReply('watch', { slots: [{ ...window, phase: 'unheard-of' }], sales: [] })
    expect(slots).toEqual([{ ...window, phase: 'open' }])
  })

  it('an unknown event and unknown fields are ignored', () => {
    expect(parseFrame('{"ev":"fireworks","colour":"red"}')).toMatchObject({ kind: 'unknown' })
    expect(event(parseFrame(JSON.stringify({ ...good, weather: 'fine' })))).toEqual(good)
  })

  it('an unknown error code counts as internal', () => {
    const frame = parseFrame('{"id":4,"error":{"code":"teapot","message":"short and stout"}}')
    expect(frame).toMatchObject({ kind: 'error', error: { code: 'internal', retry_ms: 0, orders: [] } })
  })

  it('a picture with a forbidden URL scheme is dropped', () => {
    const file = goldenOf('sale.json')[0]?.frame as { sale: { product: { images: unknown[] } } }
    file.sale.product.images = [
      'javascript:alert(1)',
      '//evil.example/x.svg',
      'data:image/svg+xml,x',
      '/p/1.svg',
    ].map((url) => ({ url, alt: '' }))
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const parsed = event(parseFrame(JSON.stringify(file)))
    warn.mockRestore()
    expect(parsed.ev === 'sale' && parsed.sale.product.images).toEqual([{ url: '/p/1.svg', alt: '' }])
  })
})
