import { onBeforeUnmount, onMounted, ref, type Ref, type ShallowRef } from 'vue'

/**
 * The last vertical position of the finger or mouse, as a share of the window height. Until the first pointer event,
 * the position of the focused element is used.
 */
let pointer: number | undefined
for (const name of ['pointerdown', 'pointermove'] as const) {
  window.addEventListener(name, ({ clientY }) => (pointer = clientY / innerHeight), { passive: true })
}

function pointerPosition(): number {
  const focus = document.activeElement
  if (pointer === undefined && focus && focus !== document.body) {
    const { top, bottom } = focus.getBoundingClientRect()
    return (top + bottom) / 2 / innerHeight
  }
  return pointer ?? 1
}

/**
 * Returns whether an overlay belongs to the bottom of the window. Each time an element is added, the overlay moves to
 * the half without the finger, so that it never appears under the finger.
 */
export function useOverlayAtBottom(element: Readonly<ShallowRef<Element | null>>): Ref<boolean> {
  const atBottom = ref(false)
  const observer = new MutationObserver((changes) => {
    if (changes.some(({ addedNodes }) => [...addedNodes].some((node) => node instanceof Element)))
      atBottom.value = pointerPosition() < 0.5
  })
  onMounted(() => {
    if (element.value) observer.observe(element.value, { childList: true, subtree: true })
  })
  onBeforeUnmount(() => observer.disconnect())
  return atBottom
}
