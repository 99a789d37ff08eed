import { describe, expect, it } from 'vitest'
import { formsOf, smallOf } from './pictures'

describe('the forms of a picture', () => {
  const uploaded = `/images/${'0a'.repeat(32)}.jpg`

  it('are two for an uploaded picture', () => {
    expect(smallOf(uploaded)).toBe(uploaded.replace('.jpg', '.small.jpg'))
    expect(formsOf(uploaded)).toBe(`${smallOf(uploaded)} 400w, ${uploaded} 1600w`)
  })

  it('are one for bundled and external pictures', () => {
    for (const url of ['/products/kettle.svg', 'https://cdn.example/a.jpg', '/images/0a.jpg']) {
      expect(smallOf(url)).toBe(url)
      expect(formsOf(url)).toBeUndefined()
    }
  })
})
