import { computed, shallowRef } from 'vue'

/** What a dialog is about; it is open as long as there is something, and closing it forgets that. */
export function useSubject<T>() {
  const subject = shallowRef<T>()
  const open = computed({
    get: () => subject.value !== undefined,
    set: (is) => {
      if (!is) subject.value = undefined
    },
  })
  return { subject, open }
}
