// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from 'vitest'
import { freshStores } from '../stores/define'
import { usePreferences } from '../stores/preferences'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { order, sale } from '../testing/samples'
import { useNames } from './useNames'

const logIn = (name: string, account?: { account: true }): void =>
  useSession().logIn({ access: 't', user: { id: '7', name }, expires: 0, issued: 0, ...account })

beforeEach(() => {
  freshStores()
  usePreferences().setLang('zh')
})

describe('names in the language of the page', () => {
  it('a field without a translation is the own text of the product', () => {
    const names = useNames()
    const { product } = sale()
    const translated = { ...product, texts: { zh: { name: '水壶' } } }
    expect(names.translate(translated, 'name')).toBe('水壶')
    expect(names.translate(translated, 'category')).toBe('Kitchen')
    expect(names.translate(product, 'name')).toBe('Kettle')
    usePreferences().setLang('en')
    expect(names.translate(translated, 'name')).toBe('Kettle')
  })

  it('an order has the name of its product after its sale is loaded', () => {
    const names = useNames()
    expect(names.ofOrder(order())).toBe('Kettle')
    expect(names.ofOrder(order({ product_name: '' }))).toBe('商品')
    useSales().change(sale({ product: { ...sale().product, texts: { zh: { name: '水壶' } } } }))
    expect(names.ofOrder(order())).toBe('水壶')
  })

  it('the name of a guest is translated; the name of an account is kept', () => {
    const names = useNames()
    expect(names.ofUser()).toBe('')
    logIn('Guest 1234')
    expect(names.ofUser()).toBe('游客 1234')
    usePreferences().setLang('en')
    expect(names.ofUser()).toBe('Guest 1234')
    usePreferences().setLang('zh')
    logIn('Guest 1234', { account: true })
    expect(names.ofUser()).toBe('Guest 1234')
    logIn('Guest of honour')
    expect(names.ofUser()).toBe('Guest of honour')
  })
})
