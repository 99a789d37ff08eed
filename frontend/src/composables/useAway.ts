import { onBeforeUnmount, onMounted, ref, type Ref, type ShallowRef } from 'vue'

/** Where the finger or the mouse was last, from the top of the window in its heights; the focus counts until then. */
let pointer: number | undefined
for (const name of ['pointerdown', 'pointermove'] as const) {
  window.addEventListener(name, ({ clientY }) => (pointer = clientY / innerHeight), { passive: true })
}

function hand(): number {
  const focus = document.activeElement
  if (pointer === undefined && focus && focus !== document.body) {
    const { top, bottom } = focus.getBoundingClientRect()
    return (top + bottom) / 2 / innerHeight
  }
  return pointer ?? 1
}

/**
 * Whether what lies over the page belongs to the bottom of the window: whenever something is added to it, it goes to
 * the half where the finger is not, so that nothing comes between the finger and what it was about to press.
 */
export function useAway(element: Readonly<ShallowRef<Element | null>>): Ref<boolean> {
  const low = ref(false)
  const observer = new MutationObserver((changes) => {
    if (changes.some(({ addedNodes }) => [...addedNodes].some((node) => node instanceof Element)))
      low.value = hand() < 0.5
  })
  onMounted(() => {
    if (element.value) observer.observe(element.value, { childList: true, subtree: true })
  })
  onBeforeUnmount(() => observer.disconnect())
  return low
}
