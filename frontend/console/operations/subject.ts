import { computed, shallowRef } from 'vue'

/** useSubject holds the object of a dialog. The dialog is open while an object is set; closing it clears the object. */
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
