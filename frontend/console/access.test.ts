// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Refused } from '../src/live/ops'
import { freshStores } from '../src/stores/define'
import { usePreferences } from '../src/stores/preferences'
import { useAccess } from './access'
import { useProblem } from './problem'

const ACCOUNT = 'this account is blocked'
const ADDRESS = 'this address is blocked by the shop'
const SESSION = {
  access: 'token',
  issued: 0,
  expires: 4_000_000_000_000,
  user: { id: '7', name: 'Ada' },
  account: true as const,
}

const blocked = (message: string) => new Refused({ code: 'forbidden', message, retry_ms: 0, orders: [] })

beforeEach(() => {
  localStorage.clear()
  freshStores()
})

describe('a blocked operator', () => {
  it.each([
    [ACCOUNT, 'account'],
    [ADDRESS, 'address'],
    ['this requires the role operator', 'loggedOut'],
  ])('with the message %s has the access %s', async (message, want) => {
    const body = JSON.stringify({ error: { code: 'forbidden', message } })
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status: 403 })))
    await useAccess().logIn(SESSION)
    expect(useAccess().access).toBe(want)
  })

  it('reads the reason in both languages, also at the login', () => {
    const explain = useProblem()
    const overrides = { forbidden: 'not active' }
    usePreferences().setLang('en')
    expect(explain(blocked(ACCOUNT), overrides)).toMatch(/account is blocked/)
    expect(explain(blocked(ADDRESS), overrides)).toMatch(/blocked your network address/)
    usePreferences().setLang('zh')
    expect(explain(blocked(ACCOUNT), overrides)).toMatch(/账号已被封禁/)
    expect(explain(blocked(ADDRESS), overrides)).toMatch(/网络地址已被商城封禁/)
    expect(explain(blocked('other'), overrides)).toBe('not active')
  })
})
