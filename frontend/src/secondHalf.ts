/**
 * Swallows the second half of a double click whose first half has just been acted on: it was meant for what was there
 * before, and comes to whatever is there now, on a busy machine long after. A click of its own is let through.
 */
export function swallowSecondHalf(): void {
  window.addEventListener(
    'click',
    (click) => {
      if (click.detail < 2) return
      click.preventDefault()
      click.stopImmediatePropagation()
    },
    { capture: true, once: true },
  )
}
