// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { order } from '../testing/samples'
import { connect, guest, pass, shop, visitedBeforeEach, wire } from '../testing/visit'

visitedBeforeEach()

describe('confirming a receipt', () => {
  it('sends one request as the current user; the event reports the outcome', async () => {
    await connect()
    const shipped = order({ state: 'shipped', rev: 3 })
    guest.mockClear()
    guest.mockImplementation(() => ({ status: 200, body: { state: 'finished' } }))
    const first = shop.receive(shipped)
    expect(shop.receiving.value.has('101')).toBe(true)
    await Promise.all([first, shop.receive(shipped)])
    expect(guest).toHaveBeenCalledTimes(1)
    const headers = guest.mock.calls[0]?.[0]?.headers as Record<string, string>
    expect(headers.Authorization).toMatch(/^Bearer /)
    expect(shop.receiving.value.has('101')).toBe(false)
    expect(useOrders().byId.get('101')).toBeUndefined()
    wire().deliver({ ev: 'order', cursor: '1-7', key: 'k', order: order({ state: 'finished', rev: 4 }) })
    expect(useOrders().byId.get('101')?.state).toBe('finished')
  })

  it('explains a rejection', async () => {
    await connect()
    guest.mockImplementation(() => ({
      status: 409,
      body: { error: { code: 'wrong_state', message: '', retry_ms: 0 } },
    }))
    await shop.receive(order({ state: 'shipped' }))
    await pass()
    expect(useNotices().notices.length).toBeGreaterThan(0)
    expect(shop.receiving.value.size).toBe(0)
  })
})
