import { describe, expect, it } from 'vitest'
import { isEmail } from './credentials'

describe('isEmail', () => {
  it.each(['ada@shop.example', "o'neil+sale@a-b.example", 'li@商城.example', 'ada@localhost'])(
    'accepts %s',
    (text) => {
      expect(isEmail(text)).toBe(true)
    },
  )
  it.each([
    '',
    'ada',
    'ada@shop',
    'ada@shop..example',
    'é@shop.example',
    'a b@shop.example',
    'a@shop_x.example',
  ])('rejects "%s", as the server does', (text) => {
    expect(isEmail(text)).toBe(false)
  })
})
