// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { usePasses } from '../stores/passes'
import { useAttempts } from '../stores/attempts'
import { useSession } from '../stores/session'
import { sale } from '../testing/samples'
import { connect, pass, shop, visitedBeforeEach, wire } from '../testing/visit'

// The proof of work has its own tests; here it takes 600 ms.
const solve = vi.hoisted(() => vi.fn())
vi.mock('../checkout/work', () => ({ solveWork: solve }))

visitedBeforeEach()
beforeEach(() => {
  solve.mockReset()
  solve.mockImplementation(
    (_: unknown, signal: AbortSignal, onProgress: (share: number) => void) =>
      new Promise((resolve, reject) => {
        setTimeout(() => onProgress(0.5), 300)
        setTimeout(() => resolve('77'), 600)
        signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
      }),
  )
})

function requirePass(challenge: string, opensIn = -60_000): void {
  const opens_at = Date.now() + opensIn
  const more = { pass: true, challenge, opens_at, closes_at: opens_at + 3_600_000 }
  wire().deliver({ ev: 'sale', sale: sale(more) })
}

const until = (): number => Date.now() + 120_000
const receipt = { order: '101', ticket: 9, place: 0, state: 'reserved' }
const work = () => ({ challenge: { kind: 'work', id: 'w1', text: 'v1.x', bits: 16, until: until() } })
const picture = (id: string) => ({
  challenge: { kind: 'captcha', id, image: 'data:image/png;base64,AAAA', until: until() },
})
const ops = (op: string) => wire().sent.filter((frame) => frame.op === op)

describe('a pass', () => {
  it('is prepared near the opening for visible sales, kept fresh, and used by one click', async () => {
    await connect()
    requirePass('none', 200_000)
    usePasses().setVisible('11', true)
    await pass(100_000)
    expect(ops('pass')).toEqual([])
    for (let s = 0; s < 85 && ops('pass').length === 0; s++) await pass(1_000)
    expect(ops('pass')).toHaveLength(1)
    wire().reply('pass', { pass: 'p1', until: until() })
    await pass(10_000)
    expect(ops('pass')).toHaveLength(1)
    expect(usePasses().remainingMs('11', Date.now())).toBeGreaterThan(90_000)
    shop.buy('11', 1)
    await pass(10)
    expect(wire().last('buy').pass).toBe('p1')
    wire().reply('buy', receipt)
    await pass(10)
    expect(usePasses().passFor('11')).toBeUndefined()
  })

  it('is replaced before its expiry, and not requested for hidden sales or with a captcha', async () => {
    await connect()
    requirePass('none')
    await pass(5_000)
    expect(ops('pass')).toEqual([])
    usePasses().setVisible('11', true)
    await pass(1_000)
    wire().reply('pass', { pass: 'p1', until: until() })
    await pass(90_000)
    expect(ops('pass')).toHaveLength(1)
    for (let s = 0; s < 12 && ops('pass').length === 1; s++) await pass(1_000)
    expect(ops('pass')).toHaveLength(2)
    wire().reply('pass', { pass: 'p2', until: until() })
    await pass(10)
    expect(usePasses().passFor('11')).toBe('p2')
    requirePass('captcha')
    await pass(130_000)
    expect(ops('pass')).toHaveLength(2)
  })

  it('is obtained at the click with a sheet, and the attempt continues', async () => {
    await connect()
    requirePass('work')
    shop.buy('11', 1)
    await pass(10)
    wire().refuse('buy', 'pass_required')
    await pass(10)
    wire().reply('pass', work())
    await pass(400)
    expect(usePasses().shown).toMatchObject({ kind: 'work', forBuy: true })
    expect(usePasses().working.get('11')).toBe(0.5)
    await pass(300)
    expect(wire().last('solve')).toMatchObject({ sale: '11', task: 'w1', answer: '77' })
    wire().reply('solve', { pass: 'p1', until: until() })
    await pass(10)
    expect(usePasses().shown).toBeUndefined()
    const [first, second] = ops('buy')
    expect(second).toMatchObject({ key: first?.key, pass: 'p1' })
  })

  it('can be cancelled by the shopper, and the worker ends', async () => {
    await connect()
    requirePass('work')
    shop.buy('11', 1)
    await pass(10)
    wire().refuse('buy', 'pass_required')
    await pass(10)
    wire().reply('pass', work())
    await pass(300)
    shop.challenge.giveUp()
    await pass(1_000)
    expect(usePasses().shown).toBeUndefined()
    expect(ops('solve')).toEqual([])
    // No message follows when the shopper gives up.
    expect(useAttempts().all).toEqual([])
    expect(ops('buy')).toHaveLength(1)
  })

  it('handles another picture, a wrong solution, a pause and the right solution', async () => {
    await connect()
    requirePass('captcha')
    shop.buy('11', 1)
    await pass(10)
    wire().refuse('buy', 'captcha_required')
    await pass(10)
    wire().reply('pass', picture('a'))
    await pass(10)
    expect(usePasses().shown).toMatchObject({ kind: 'captcha', wrong: false })
    shop.challenge.other()
    await pass(10)
    wire().reply('pass', picture('b'))
    await pass(10)
    shop.challenge.answer('nonsense')
    await pass(10)
    expect(wire().last('solve')).toMatchObject({ task: 'b', answer: 'nonsense' })
    wire().refuse('solve', 'captcha_required')
    await pass(10)
    wire().deliver({
      id: wire().last('pass').id,
      error: { code: 'rate_limited', message: '', retry_ms: 9_000 },
    })
    await pass(10)
    expect(usePasses().shown).toMatchObject({ wrong: true })
    expect(usePasses().shown?.waitsUntil).toBeGreaterThan(Date.now() + 8_900)
    await pass(9_000)
    wire().reply('pass', picture('c'))
    await pass(10)
    expect(usePasses().shown).toMatchObject({ wrong: true, image: 'data:image/png;base64,AAAA' })
    shop.challenge.answer('right')
    await pass(10)
    wire().reply('solve', { pass: 'p1', until: until() })
    await pass(10)
    expect(wire().last('buy').pass).toBe('p1')
    expect(usePasses().shown).toBeUndefined()
  })

  it('can be obtained before the opening by solving its challenge', async () => {
    await connect()
    requirePass('captcha', 50_000)
    void shop.getReady('11')
    await pass(10)
    wire().reply('pass', picture('a'))
    await pass(10)
    expect(usePasses().shown).toMatchObject({ forBuy: false })
    shop.challenge.answer('right')
    await pass(10)
    wire().reply('solve', { pass: 'early', until: until() })
    await pass(50_000)
    shop.buy('11', 1)
    await pass(10)
    expect(wire().last('buy').pass).toBe('early')
  })

  it('is reported as missing if the work fails', async () => {
    const mistakes = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    solve.mockImplementation(() => Promise.reject(new Error('no worker')))
    await connect()
    requirePass('work')
    shop.buy('11', 1)
    await pass()
    wire().refuse('buy', 'pass_required')
    for (let tries = 0; tries < 3; tries++) {
      await pass(10)
      wire().reply('pass', work())
    }
    await pass(10)
    expect(useAttempts().ended[0]?.ending).toEqual({ kind: 'refused', code: 'pass_required' })
    expect(mistakes).toHaveBeenCalledTimes(3)
  })

  it('belongs to its user', async () => {
    await connect()
    usePasses().store('11', { pass: 'p1', until: until() })
    expect(usePasses().passFor('11')).toBe('p1')
    shop.logIn({ access: 'a', user: { id: '9', name: 'L' }, expires: 0, issued: 0, account: true })
    await pass(10)
    expect(useSession().user?.id).toBe('9')
    expect(usePasses().passFor('11')).toBeUndefined()
  })
})
