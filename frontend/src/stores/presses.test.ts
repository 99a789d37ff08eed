// @vitest-environment happy-dom
import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, describe, expect, it } from 'vitest'
import { usePresses } from './presses'

const press = { key: 'k-3f9c1d2e', user: '7', sale: '11', qty: 1, product: 'Kettle', pressedAt: 0 }
const other = { ...press, key: 'k-00000000', sale: '12' }

/** The store as another tab, or this page after a reload, sees it. */
function anotherTab() {
  const here = createPinia()
  setActivePinia(here)
  return usePresses(here)
}

beforeEach(() => {
  localStorage.clear()
  setActivePinia(createPinia())
})

describe('presses', () => {
  it('survive a reload with their key, and only their own user goes on with them', () => {
    usePresses().begin(press)
    expect(anotherTab().inherit('7', 1_000)).toEqual([press])
    const tab = anotherTab()
    expect(tab.inherit('8', 1_000)).toEqual([])
    expect(tab.ended).toMatchObject([{ key: press.key, ending: { kind: 'foreign' } }])
  })

  it('that are long gone are not repeated, and end with words', () => {
    usePresses().begin(press)
    const tab = anotherTab()
    expect(tab.inherit('7', 3_600_000)).toEqual([])
    expect(tab.ended).toMatchObject([{ key: press.key, ending: { kind: 'late' } }])
  })

  it('of two tabs do not overwrite each other', () => {
    const one = usePresses()
    const two = anotherTab()
    one.begin(press)
    two.begin(other)
    one.end(press)
    expect(anotherTab().open.map(({ key }) => key)).toEqual([other.key])
    two.end(other, { kind: 'refused', code: 'sold_out' })
    expect(anotherTab().kept).toEqual([{ ...other, ending: { kind: 'refused', code: 'sold_out' } }])
  })

  it('are known to the other tabs at once', () => {
    const one = usePresses()
    const two = anotherTab()
    one.begin(press)
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.k' }))
    expect(two.onSale('11')?.key).toBe(press.key)
    one.end(press)
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.k' }))
    expect(two.kept).toEqual([])
  })

  it('keep their ending over a reload until it is read, or the same sale is tried again', () => {
    usePresses().begin(press)
    usePresses().end(press, { kind: 'refused', code: 'closed' })
    const tab = anotherTab()
    expect(tab.ended).toHaveLength(1)
    expect(tab.onSale('11')).toBeUndefined()
    tab.begin({ ...press, key: 'k-11111111' })
    expect(tab.ended).toEqual([])
    tab.end({ ...press, key: 'k-11111111' }, { kind: 'ordered' })
    tab.forget('k-11111111')
    expect(anotherTab().kept).toEqual([])
  })

  it('that the store does not take live as long as their page', () => {
    const presses = usePresses()
    const full = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    const { setItem } = Storage.prototype
    Storage.prototype.setItem = full
    presses.begin(press)
    Storage.prototype.setItem = setItem
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.other' }))
    expect(presses.isOpen(press.key)).toBe(true)
  })

  it('that cannot be read are left out', () => {
    localStorage.setItem('stampede.press.a', '{"key":1}')
    localStorage.setItem('stampede.press.b', 'no JSON')
    localStorage.setItem(
      'stampede.press.c',
      JSON.stringify({ ...press, ending: { kind: 'of a later page' } }),
    )
    expect(anotherTab().kept).toEqual([])
  })
})
