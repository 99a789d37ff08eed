// @vitest-environment happy-dom
import { expect, it } from 'vitest'
import { suppressSecondClick } from './secondClick'

it('suppresses the second half of a double click, but not the next click', () => {
  const clicks: number[] = []
  const button = document.createElement('button')
  document.body.append(button)
  button.addEventListener('click', ({ detail }) => clicks.push(detail))
  const click = (detail: number) => {
    const event = new MouseEvent('click', { detail, bubbles: true, cancelable: true })
    button.dispatchEvent(event)
    return event.defaultPrevented
  }

  suppressSecondClick()
  expect([click(2), click(1), click(2)]).toEqual([true, false, false])
  expect(clicks).toEqual([1, 2])

  clicks.length = 0
  suppressSecondClick()
  expect([click(1), click(2)]).toEqual([false, false])
  expect(clicks).toEqual([1, 2])
})
