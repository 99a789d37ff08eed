import { inject, provide, ref, type InjectionKey, type Ref } from 'vue'

/** The error texts of the fields of a form, by the name of the field. An empty text is no error. */
export type Invalid = Record<string, string>

const key: InjectionKey<Ref<Invalid>> = Symbol('invalid')

/** Creates the error texts of a form. SheetForm and its fields show them; a new object moves the focus. */
export function provideInvalid(): Ref<Invalid> {
  const invalid = ref<Invalid>({})
  provide(key, invalid)
  return invalid
}

/** The error texts of the surrounding form. */
export const useInvalid = (): Ref<Invalid> => inject(key, () => ref({}), true)
