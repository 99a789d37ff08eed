import { describe, expect, it } from 'vitest'
import { Malformed } from '../protocol/parse'
import { parseSession } from './token'

function token(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'HS256' })}.${part(claims)}.c2ln`
}

describe('tokens', () => {
  it('have a time of issue and an expiry', () => {
    const access = token({ sub: '7', iat: 1_795_179_600, exp: 1_795_222_800 })
    expect(parseSession({ access, user: { id: '7', name: 'Guest 7' } })).toEqual({
      access,
      user: { id: '7', name: 'Guest 7' },
      issued: 1_795_179_600_000,
      expires: 1_795_222_800_000,
    })
  })

  it('of a malformed response are rejected', () => {
    expect(() => parseSession({ access: '', user: { id: '7' } })).toThrow(Malformed)
    expect(() => parseSession({ access: 'a.b.c' })).toThrow(Malformed)
  })
})
