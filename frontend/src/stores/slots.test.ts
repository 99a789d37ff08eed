import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { at } from '../testing/clock'
import { sale, slot } from '../testing/samples'
import { freshStores } from './define'
import { useSales } from './sales'
import { currentSlot, phaseAt, useSlots } from './slots'

beforeEach(() => {
  vi.useFakeTimers()
  freshStores()
})

afterEach(() => void vi.useRealTimers())

describe('phases', () => {
  it('follow the server clock: the window is [opens, closes)', () => {
    const upcoming = slot({ phase: 'upcoming' })
    expect([999, 1_000, 1_999, 2_000].map((now) => phaseAt(upcoming, now))).toEqual([
      'upcoming',
      'open',
      'open',
      'closed',
    ])
  })

  it('accept an early end', () => {
    expect(phaseAt(slot({ phase: 'closed' }), 1_500)).toBe('closed')
  })
})

describe('slots', () => {
  const day = [
    slot({ id: '2', opens_at: 2_000, closes_at: 3_000 }),
    slot({ id: '1', opens_at: 1_000, closes_at: 2_000 }),
    slot({ id: '3', opens_at: 5_000, closes_at: 6_000 }),
  ]

  it('the current one is the open one, otherwise the next, otherwise the last', () => {
    const slots = useSlots()
    slots.replace(day)
    const at = (now: number): string | undefined => currentSlot(slots.slots, now)?.id
    expect([500, 1_500, 2_000, 4_000, 9_000].map(at)).toEqual(['1', '1', '2', '3', '3'])
    expect(currentSlot([], 0)).toBeUndefined()
  })

  it('the displayed one stays after its end, with a link to the next', () => {
    const slots = useSlots()
    at(1_500)
    slots.replace(day)
    expect([slots.shown?.id, slots.next?.id]).toEqual(['1', undefined])
    at(2_500)
    expect([slots.shown?.id, slots.next?.id]).toEqual(['1', '2'])
    slots.choose('2')
    expect([slots.shown?.id, slots.next?.id]).toEqual(['2', undefined])
    at(3_500)
    expect([slots.shown?.id, slots.next?.id]).toEqual(['2', '3'])
    slots.choose('3')
    at(9_000)
    expect([slots.shown?.id, slots.next?.id]).toEqual(['3', undefined])
  })

  it('the displayed one stays, ended, after its deletion', () => {
    const slots = useSlots()
    at(1_500)
    slots.replace(day)
    slots.choose('3')
    slots.replace(day.slice(0, 2))
    expect(slots.shown).toMatchObject({ id: '3', phase: 'closed', closes_at: 1_500 })
    expect(slots.next?.id).toBe('1')
    slots.choose('1')
    slots.replace(day.slice(0, 2))
    expect(slots.slots.map(({ id }) => id)).toEqual(['1', '2'])
  })

  it('a slot that was never loaded is dropped', () => {
    const slots = useSlots()
    at(1_500)
    slots.replace(day)
    slots.choose('3')
    slots.reset()
    slots.replace(day.slice(0, 2))
    expect(slots.shown?.id).toBe('1')
  })

  it('change one by one, and new ones are sorted by time', () => {
    const slots = useSlots()
    slots.replace(day)
    slots.change(slot({ id: '4', opens_at: 3_000, closes_at: 5_000 }))
    slots.change(slot({ id: '1', opens_at: 1_000, closes_at: 1_900, phase: 'closed' }))
    expect(slots.slots.map((s) => s.id)).toEqual(['1', '2', '4', '3'])
    expect(slots.slots[0]?.closes_at).toBe(1_900)
  })
})

describe('sales', () => {
  const line = { id: '11', stock: 37, held: 13, sold: 50, done: 78, rate: 12.4, watching: 1532 }

  it('take the newest numbers of a tick and ignore sales that are not known', () => {
    const sales = useSales()
    sales.replaceSlot('1', [sale()])
    sales.tick([line, { ...line, id: '404' }])
    expect(sales.byId.get('11')).toMatchObject({ ...line, price_fen: 9_900 })
    expect(sales.byId.has('404')).toBe(false)
  })

  it('of a slot are replaced by its snapshot, and others stay', () => {
    const slots = useSlots()
    const sales = useSales()
    slots.replace([slot()])
    expect(sales.shown).toBeUndefined()
    sales.replaceSlot('2', [sale({ id: '20', slot: '2' })])
    sales.replaceSlot('1', [sale({ id: '12' }), sale()])
    expect(sales.shown?.map((s) => s.id)).toEqual(['11', '12'])
    expect(sales.byId.has('20')).toBe(true)
    sales.replaceSlot('2', [])
    expect(sales.byId.has('20')).toBe(false)
  })

  it('stay visible as closed if the snapshot lacks them, so that the others do not move', () => {
    useSlots().replace([slot()])
    const sales = useSales()
    sales.replaceSlot('1', [sale({ id: '12' }), sale()])
    sales.replaceSlot('1', [sale({ id: '12' })])
    expect(sales.shown?.map(({ id, phase }) => `${id} ${phase}`)).toEqual(['11 closed', '12 open'])
  })

  it('of an empty slot are known to be empty', () => {
    useSlots().replace([slot()])
    const sales = useSales()
    sales.replaceSlot('1', [])
    expect(sales.shown).toEqual([])
  })
})
