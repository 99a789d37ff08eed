/**
 * Swallows the second click of a double click after its first click has caused an action. The second click was meant
 * for the previous content, and on a busy machine it arrives long after the change. A single click is not affected.
 */
export function suppressSecondClick(): void {
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
