import { onBeforeUnmount, onMounted, ref, type Ref, type ShallowRef } from 'vue'

/** Whether any part of an element is visible. */
export function useInView(element: Readonly<ShallowRef<Element | null>>): Ref<boolean> {
  const inView = ref(true)
  let observer: IntersectionObserver | undefined
  onMounted(() => {
    observer = new IntersectionObserver((entries) => (inView.value = entries.at(-1)?.isIntersecting ?? true))
    if (element.value) observer.observe(element.value)
  })
  onBeforeUnmount(() => observer?.disconnect())
  return inView
}
