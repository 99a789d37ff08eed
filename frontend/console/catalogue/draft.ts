import { computed, ref, shallowRef, type Ref } from 'vue'
import { useListener } from '../../src/timers'
import { changesOf, type Change } from '../journal/diff'
import { guardLeaving } from '../router'

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The fields of `local` that differ from `base`. */
export function changedFields<T extends object>(base: T, local: T): Partial<T> {
  const names = Object.keys(local) as (keyof T)[]
  return Object.fromEntries(
    names.filter((name) => !same(base[name], local[name])).map((name) => [name, local[name]]),
  ) as Partial<T>
}

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Applies the local changes to `remote`, the version of another operator. Nested objects are merged field by field;
 * lists are replaced.
 */
export function rebased<T extends object>(base: T, local: T, remote: T): T {
  const names = Object.keys(changedFields(base, local)) as (keyof T)[]
  const changes = names.map((name) => {
    const [was, own, theirs]: unknown[] = [base[name], local[name], remote[name]]
    const nested = isNested(was) && isNested(own) && isNested(theirs)
    return [name, nested ? rebased(was, own, theirs) : own]
  })
  return { ...remote, ...(Object.fromEntries(changes) as Partial<T>) }
}

/**
 * useDraft holds an edited object: the version that was read, and the local changes. If another operator saves first,
 * unchanged fields take the new values, changed fields stay, and `otherChanges` lists the changes of the other
 * operator. Leaving the page with changes requires confirmation.
 */
export function useDraft<T extends object>(question: () => string) {
  const base = shallowRef<T>()
  const draft = ref<T>() as Ref<T | undefined>
  const otherChanges = shallowRef<readonly Change[]>([])
  const changed = computed<Partial<T>>(() =>
    base.value && draft.value ? changedFields(base.value, draft.value) : {},
  )
  const isChanged = computed(() => Object.keys(changed.value).length > 0)

  function show(fresh: T): void {
    base.value = fresh
    draft.value = copyOf(fresh)
    otherChanges.value = []
  }

  /** Reloads the object unless it has local changes. Changes typed during the request are kept. */
  async function renew<R>(read: () => Promise<R>, apply: (fresh: R) => void): Promise<void> {
    if (isChanged.value) return
    const fresh = await read()
    if (!isChanged.value) apply(fresh)
  }

  /** Applies the local changes to the current version. */
  function rebase(now: T): void {
    const [was, local] = [base.value, draft.value]
    if (!was || !local) return show(now)
    otherChanges.value = changesOf(was, now)
    draft.value = copyOf(rebased(was, local, now))
    base.value = now
  }

  function reset(): void {
    if (base.value) show(base.value)
  }

  useListener(window, 'beforeunload', (event) => {
    if (isChanged.value) event.preventDefault()
  })
  guardLeaving(() => !isChanged.value || confirm(question()))
  return { base, draft, otherChanges, changed, isChanged, show, renew, rebase, reset }
}

const copyOf = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T
