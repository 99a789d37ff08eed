// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from 'vitest'
import { useAttempts } from './attempts'
import { freshStores } from './define'

const attempt = { key: 'k-3f9c1d2e', user: '7', sale: '11', qty: 1, product: 'Kettle', pressedAt: 0 }
const other = { ...attempt, key: 'k-00000000', sale: '12' }

/** The store as another tab, or this page after a reload, sees it. */
function anotherTab() {
  freshStores()
  return useAttempts()
}

beforeEach(() => {
  localStorage.clear()
  freshStores()
})

describe('attempts', () => {
  it('survive a reload with their key, and only their own user resumes them', () => {
    useAttempts().begin(attempt)
    expect(anotherTab().inherit('7', 1_000)).toEqual([attempt])
    const tab = anotherTab()
    expect(tab.inherit('8', 1_000)).toEqual([])
    expect(tab.ended).toMatchObject([{ key: attempt.key, ending: { kind: 'foreign' } }])
  })

  it('that are too old are not repeated and end with a message', () => {
    useAttempts().begin(attempt)
    const tab = anotherTab()
    expect(tab.inherit('7', 3_600_000)).toEqual([])
    expect(tab.ended).toMatchObject([{ key: attempt.key, ending: { kind: 'late' } }])
  })

  it('of two tabs do not overwrite each other', () => {
    const one = useAttempts()
    const two = anotherTab()
    one.begin(attempt)
    two.begin(other)
    one.end(attempt)
    expect(anotherTab().open.map(({ key }) => key)).toEqual([other.key])
    two.end(other, { kind: 'refused', code: 'sold_out' })
    expect(anotherTab().all).toEqual([{ ...other, ending: { kind: 'refused', code: 'sold_out' } }])
  })

  it('are visible to other tabs at once', () => {
    const one = useAttempts()
    const two = anotherTab()
    one.begin(attempt)
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.k' }))
    expect(two.onSale('11')?.key).toBe(attempt.key)
    one.end(attempt)
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.k' }))
    expect(two.all).toEqual([])
  })

  it('keep their ending after a reload until it is dismissed or the next attempt', () => {
    useAttempts().begin(attempt)
    useAttempts().end(attempt, { kind: 'refused', code: 'closed' })
    const tab = anotherTab()
    expect(tab.ended).toHaveLength(1)
    expect(tab.onSale('11')).toBeUndefined()
    tab.begin({ ...attempt, key: 'k-11111111' })
    expect(tab.ended).toEqual([])
    tab.end({ ...attempt, key: 'k-11111111' }, { kind: 'ordered' })
    tab.remove('k-11111111')
    expect(anotherTab().all).toEqual([])
  })

  it('that the storage rejects live as long as their page', () => {
    const attempts = useAttempts()
    const full = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
    const { setItem } = Storage.prototype
    Storage.prototype.setItem = full
    attempts.begin(attempt)
    Storage.prototype.setItem = setItem
    window.dispatchEvent(new StorageEvent('storage', { key: 'stampede.press.other' }))
    expect(attempts.isOpen(attempt.key)).toBe(true)
  })

  it('that are unreadable are skipped', () => {
    localStorage.setItem('stampede.press.a', '{"key":1}')
    localStorage.setItem('stampede.press.b', 'no JSON')
    localStorage.setItem(
      'stampede.press.c',
      JSON.stringify({ ...attempt, ending: { kind: 'of a later page' } }),
    )
    expect(anotherTab().all).toEqual([])
  })
})
