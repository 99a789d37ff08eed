import { describe, expect, it } from 'vitest'
import { detailsOf, parseDeadLetter, parseMail, parsePosting } from './failedjobs'
import { isCarrier, isTracking, textOf } from './parcels'
import { isRefundable, LISTED_STATES, parseOperatorOrder, parseShipReport, parseUserFile } from './types'

const order = {
  id: '9',
  sale: '8',
  user: '42',
  product_name: 'Lamp',
  qty: 1,
  price_fen: 4900,
  amount_fen: 4900,
  state: 'shipped',
  ticket: 3,
  rev: 4,
  created_at: 1_700_000_000_000,
}

describe('a refund', () => {
  it('is offered in the states in which the server refunds', () => {
    expect(LISTED_STATES.filter(isRefundable)).toEqual(['paid', 'shipped'])
  })
})

describe('failed jobs', () => {
  it('have one form for all kinds', () => {
    const at = 1_700_000_000_000
    const letter = {
      id: '3-1-0',
      partition: 3,
      order: '9',
      sale: '8',
      user: '42',
      reason: 'why',
      deliveries: 5,
      at,
    }
    expect(parseDeadLetter({ ...letter, fields: { qty: '1' } })).toMatchObject({
      kind: 'dead',
      order: '9',
      tries: 5,
      details: [
        ['partition', '3'],
        ['sale', '8'],
        ['user', '42'],
        ['fields.qty', '1'],
      ],
    })
    const posting = { id: '1-0', group: 'webhook', reason: 'why', deliveries: 2, at }
    expect(parsePosting({ ...posting, posting: { order: '9', state: 'paid' } }).order).toBe('9')
    const mail = { id: '1-0', at, kind: 'shipped', about: '9', to: 'a@b.example', tries: 3, reason: 'why' }
    expect(parseMail(mail)).toMatchObject({ kind: 'mails', about: 'shipped', tries: 3 })
  })

  it('have no order link if the entry is unreadable', () => {
    const at = 1_700_000_000_000
    const empty = { id: '1-0', group: 'webhook', reason: 'why', deliveries: 2, at, posting: { order: '0' } }
    expect(parsePosting(empty).order).toBeUndefined()
    expect(parseDeadLetter({ ...empty, order: '0', fields: {} }).order).toBeUndefined()
  })

  it('list all fields except empty ones', () => {
    expect(detailsOf({ a: { b: 1, c: '' }, d: null, e: [true] })).toEqual([
      ['a.b', '1'],
      ['e.0', 'true'],
    ])
  })
})

describe('orders', () => {
  it('have a parcel after they were shipped', () => {
    const shipment = { order: '9', carrier: 'SF', tracking: 'SF-1', shipped_at: 5, shipped_by: '7' }
    expect(parseOperatorOrder({ ...order, shipment }).shipment).toEqual({
      carrier: 'SF',
      tracking: 'SF-1',
      shipped_at: 5,
      shipped_by: '7',
    })
    expect(parseOperatorOrder(order).shipment).toBeUndefined()
  })

  it('of a guest are parsed without an account; their orders get its id', () => {
    const file = {
      id: '42',
      guest: true,
      devices: [],
      orders: [{ ...order, user: undefined }],
      more: true,
      blocks: [],
    }
    const read = parseUserFile(file)
    expect(read.account).toBeUndefined()
    expect(read.orders[0]?.user).toBe('42')
  })
})

describe('parcels', () => {
  it('accept the numbers and names that the server accepts', () => {
    expect([isTracking('SF-1/a_b.c'), isTracking(''), isTracking('x y'), isTracking('x'.repeat(40))]).toEqual(
      [true, false, false, false],
    )
    expect([isCarrier('顺丰'), isCarrier(''), isCarrier('x'.repeat(25))]).toEqual([true, false, false])
  })

  it('are read from text files', async () => {
    expect(await textOf(new Blob(['order,carrier,tracking']))).toBe('order,carrier,tracking')
    expect(await textOf(new Blob([new Uint8Array([0xff, 0xfe, 0x00])]))).toBeUndefined()
  })

  it('are reported line by line', () => {
    const lines = [
      { line: 2, order: '7', result: 'shipped' },
      { line: 3, result: 'bad_request', message: 'no id' },
    ]
    const report = parseShipReport({ dry_run: true, shipped: 1, unchanged: 0, failed: 1, lines })
    expect(report.lines).toEqual(lines)
  })
})
