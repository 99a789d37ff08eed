// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from 'vitest'
import { showReturnedOrder, departure, paymentMethod } from './departure'
import { router } from '../router'

afterEach(() => vi.unstubAllGlobals())

function tab() {
  return { opener: window as Window | null, closed: false, location: { replace: vi.fn() }, close: vi.fn() }
}

describe('departure', () => {
  it('uses a tab that was opened at once, without access to this page', () => {
    const opened = tab()
    vi.stubGlobal('open', () => opened)
    const gateway = departure('page')
    expect(opened.opener).toBeNull()
    gateway.open('https://pay.example/?a=1')
    expect(opened.location.replace).toHaveBeenCalledWith('https://pay.example/?a=1')
  })

  it('closes the tab if there is no URL', () => {
    const opened = tab()
    vi.stubGlobal('open', () => opened)
    departure('page').open('javascript:alert(1)')
    expect(opened.location.replace).not.toHaveBeenCalled()
    expect(opened.close).toHaveBeenCalled()
  })

  it('uses the current tab on a phone and if the browser blocks tabs', () => {
    const open = vi.fn(() => null)
    const assign = vi.fn()
    vi.stubGlobal('open', open)
    vi.spyOn(window.location, 'assign').mockImplementation(assign)
    departure('wap').open('https://pay.example/')
    expect(open).not.toHaveBeenCalled()
    departure('page').open('https://pay.example/')
    expect(assign).toHaveBeenCalledTimes(2)
  })
})

describe('paymentMethod', () => {
  it.each([
    ['(pointer: coarse)', 'wap'],
    ['(pointer: fine)', 'page'],
  ])('with %s is %s at any width', (pointer, method) => {
    vi.stubGlobal('matchMedia', (query: string) => ({ matches: query === pointer }))
    expect(paymentMethod()).toBe(method)
  })
})

describe('showReturnedOrder', () => {
  it('shows the order, with the shop behind it and without the parameters of the gateway', async () => {
    await router.push('/?out_trade_no=7&sign=x')
    await showReturnedOrder()
    expect(window.location.pathname + window.location.search).toBe('/order/7')
    router.back()
    await vi.waitFor(() => expect(router.currentRoute.value.fullPath).toBe('/'))
  })
})
