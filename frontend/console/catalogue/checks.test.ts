import { describe, expect, it } from 'vitest'
import { readFileSync } from 'node:fs'
import { checksEn } from '../words/checks.en'
import { checksZh } from '../words/checks.zh'
import { en } from '../words/en'
import { zh } from '../words/zh'
import { checksInOrder, checkText, pageToFix } from './checks'
import type { Check, SaleRecord } from './types'

const check = (name: string, state: Check['state']): Check => ({
  ...{ name, state, code: '', values: {}, message: '', do: '', link: '' },
})
const sale = { id: '5', product: { id: '2' }, paused: false, loaded: true } as SaleRecord

describe('the checklist', () => {
  it('lists failures first, then warnings', () => {
    const checks = [
      check('a', 'ok'),
      check('b', 'warn'),
      check('c', 'fail'),
      check('d', 'ok'),
      check('e', 'fail'),
    ]
    expect(checksInOrder(checks).map(({ name }) => name)).toEqual(['c', 'e', 'b', 'a', 'd'])
  })

  it('links to the page that can fix a check', () => {
    expect(pageToFix(check('offer', 'warn'), sale)).toBe('products/2')
    expect(pageToFix(check('offer', 'fail'), { ...sale, paused: true })).toBe('sales/5')
    expect(pageToFix(check('stock', 'fail'), sale)).toBe('sales/5')
    expect(pageToFix(check('node: worker', 'fail'), sale)).toBe('')
    expect(pageToFix(check('backlog', 'ok'), sale)).toBeUndefined()
    expect(pageToFix(check('mail', 'warn'), sale)).toBeUndefined()
  })
})

describe('the text of a check', () => {
  const spec = readFileSync(new URL('../../../app/api/spec/openapi.yaml', import.meta.url), 'utf8')
  const [, listed = ''] = /\n {4}Check:[\s\S]*?\n {8}code:[\s\S]*?enum: \[([^\]]*)\]/.exec(spec) ?? []
  const codes = listed.split(',').map((code) => code.trim())
  const found = { ...check('stock', 'fail'), message: 'gone', do: 'look' }

  it('exists in both languages for every code of the server', () => {
    expect(codes.length).toBeGreaterThan(40)
    expect(Object.keys(checksEn).sort()).toEqual([...codes].sort())
    expect(Object.keys(checksZh).sort()).toEqual([...codes].sort())
    for (const code of codes) {
      expect(Boolean(checksZh[code]?.do)).toBe(Boolean(checksEn[code]?.do))
      for (const [words, duration] of [
        [checksEn, en.duration],
        [checksZh, zh.duration],
      ] as const)
        expect(checkText({ ...found, code }, words, duration).message).not.toBe('gone')
    }
  })

  it('contains the values of the check', () => {
    const low = { ...found, code: 'price_not_below', values: { price_fen: 990, list_price_fen: 900 } }
    expect(checkText(low, checksZh, zh.duration)).toEqual({
      message: '秒杀价 ¥9.90 不低于原价 ¥9',
      do: '核对两个价格',
    })
    const apart = { ...found, code: 'clocks_apart', values: { apart_ms: 4_200 } }
    expect(checkText(apart, checksEn, en.duration).message).toContain('differ by 4.2 sec')
    expect(checkText({ ...apart, do: '' }, checksEn, en.duration).do).toBe('')
  })

  it("is the server's text if the code is unknown", () => {
    for (const code of ['', 'comet', 'constructor'])
      expect(checkText({ ...found, code }, checksZh, zh.duration)).toEqual({
        message: 'gone',
        do: 'look',
        lang: 'en',
      })
  })
})
