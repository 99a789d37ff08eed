// @vitest-environment happy-dom
import { effectScope } from 'vue'
import { describe, expect, it, vi } from 'vitest'
import { go } from '../router'
import { changedFields, rebased, useDraft } from './draft'

const base = { name: 'Kettle', price: 100, images: [{ url: '/a', alt: '' }] }

describe('a draft', () => {
  it('finds changed fields, also within lists', () => {
    expect(changedFields(base, { ...base })).toEqual({})
    expect(changedFields(base, { ...base, price: 90, images: [{ url: '/a', alt: 'red' }] })).toEqual({
      price: 90,
      images: [{ url: '/a', alt: 'red' }],
    })
  })

  it('adopts remote changes of unedited fields and keeps local edits', () => {
    const otherChanges = { name: 'Pot', price: 80, images: [] }
    expect(rebased(base, { ...base, price: 90 }, otherChanges)).toEqual({
      name: 'Pot',
      price: 90,
      images: [],
    })
  })

  it('merges nested objects field by field', () => {
    const texts = { en: { name: '', rules: '' }, zh: { name: '', rules: '' } }
    const local = { name: 'Kettle', texts: { ...texts, zh: { name: '水壶', rules: '' } } }
    const remote = {
      name: 'Pot',
      texts: { en: { name: 'Pot', rules: '' }, zh: { name: '锅', rules: '限购' } },
    }
    expect(rebased({ name: 'Kettle', texts }, local, remote)).toEqual({
      name: 'Pot',
      texts: { en: { name: 'Pot', rules: '' }, zh: { name: '水壶', rules: '限购' } },
    })
  })

  it('lists the changes of other operators', () => {
    const scope = effectScope()
    const draft = scope.run(() => useDraft<typeof base>(() => '?'))
    if (!draft) throw new Error('no scope')
    draft.show(base)
    if (draft.draft.value) draft.draft.value.price = 90
    draft.rebase({ ...base, name: 'Pot' })
    expect(draft.draft.value).toEqual({ ...base, name: 'Pot', price: 90 })
    expect(draft.changed.value).toEqual({ price: 90 })
    expect(draft.otherChanges.value).toEqual([{ name: 'name', before: 'Kettle', after: 'Pot' }])
    draft.reset()
    expect(draft.isChanged.value).toBe(false)
    expect(draft.otherChanges.value).toEqual([])
    scope.stop()
  })

  it('reloads but keeps local edits, also those made during the request', async () => {
    const scope = effectScope()
    const draft = scope.run(() => useDraft<typeof base>(() => '?'))
    if (!draft) throw new Error('no scope')
    const read = vi.fn(() => Promise.resolve({ ...base, name: 'Pot' }))
    await draft.renew(read, draft.show)
    expect(draft.draft.value?.name).toBe('Pot')

    const renewal = draft.renew(read, draft.show)
    if (draft.draft.value) draft.draft.value.price = 90
    await renewal
    expect(draft.changed.value).toEqual({ price: 90 })

    await draft.renew(read, draft.show)
    expect(read).toHaveBeenCalledTimes(2)
    scope.stop()
  })

  it('requires a confirmation before the operator leaves a page with changes', () => {
    const scope = effectScope()
    const confirmed = vi.fn(() => false)
    vi.stubGlobal('confirm', confirmed)
    const draft = scope.run(() => useDraft<typeof base>(() => 'leave?'))
    draft?.show(base)
    go('a')
    expect(confirmed).not.toHaveBeenCalled()
    if (draft?.draft.value) draft.draft.value.price = 1
    go('b')
    expect(confirmed).toHaveBeenCalledWith('leave?')
    expect(location.pathname).toBe('/console/a')
    scope.stop()
    go('b')
    expect(confirmed).toHaveBeenCalledOnce()
    expect(location.pathname).toBe('/console/b')
    vi.unstubAllGlobals()
  })
})
