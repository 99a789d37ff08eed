// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { closeSheet, isSheetOpen, openSheet, page, router } from './router'

const settled = () => new Promise((resolve) => setTimeout(resolve, 20))
const path = () => window.location.pathname

beforeEach(async () => {
  await router.push('/orders')
  await router.push('/sale/5')
})

describe('a sheet', () => {
  it('lies over the page that opened it, and Back closes it', async () => {
    openSheet('address')
    await settled()
    expect([path(), page.value.path]).toEqual(['/address', '/sale/5'])
    router.back()
    await vi.waitFor(() => expect(isSheetOpen('address')).toBe(false))
    expect(path()).toBe('/sale/5')
  })

  it('closes once, however often it is requested', async () => {
    openSheet('address')
    await settled()
    closeSheet('address')
    closeSheet('address')
    await Promise.resolve()
    closeSheet('address')
    await settled()
    expect(path()).toBe('/sale/5')
  })

  it('is replaced by a sheet that opens while it closes, at any time', async () => {
    openSheet('delivery', { id: '7' })
    await settled()
    closeSheet('delivery')
    openSheet('pay', { id: '7' })
    await settled()
    expect([path(), page.value.path]).toEqual(['/order/7/pay', '/sale/5'])
    closeSheet('pay')
    await Promise.resolve()
    openSheet('refund', { id: '7' })
    await settled()
    expect([path(), page.value.path]).toEqual(['/order/7/refund', '/sale/5'])
    router.back()
    await vi.waitFor(() => expect(path()).toBe('/sale/5'))
  })

  it.each([
    ['/order/7/pay', '/order/7'],
    ['/account/login', '/'],
  ])('%s that a link has opened closes to %s', async (link, below) => {
    window.history.replaceState({}, '', link)
    await router.replace(link)
    expect(page.value.path).toBe(below)
    closeSheet(link.includes('pay') ? 'pay' : 'account')
    await settled()
    expect(path()).toBe(below)
  })
})

describe('a page', () => {
  it.each([
    ['/sale/x', 'missing'],
    ['/sale/7/pay', 'missing'],
    ['/order/12345678901234567890', 'missing'],
    ['/order/7', 'order'],
    ['/nothing', 'missing'],
    ['/account', 'account'],
    ['/shop/terms', 'text'],
  ])('%s is %s', (url, name) => expect(router.resolve(url).name).toBe(name))
})
