import { computed, ref, shallowRef, type Ref } from 'vue'
import { useListener } from '../../src/timers'
import { changesOf, type Change } from '../journal/diff'
import { guardLeaving } from '../router'

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The fields of `mine` that are others than in `base`. */
export function changedFields<T extends object>(base: T, mine: T): Partial<T> {
  const names = Object.keys(mine) as (keyof T)[]
  return Object.fromEntries(
    names.filter((name) => !same(base[name], mine[name])).map((name) => [name, mine[name]]),
  ) as Partial<T>
}

/** What was changed here, on top of what somebody else has made of the rest meanwhile. */
export function rebased<T extends object>(base: T, mine: T, theirs: T): T {
  return { ...theirs, ...changedFields(base, mine) }
}

/**
 * Something that is being edited: as it was read, and as it shall be. When somebody else was faster, what was not touched
 * here becomes theirs, what was touched stays, and `theirs` says what they changed. Who leaves with changes is asked.
 */
export function useDraft<T extends object>(asked: () => string) {
  const base = shallowRef<T>()
  const draft = ref<T>() as Ref<T | undefined>
  const theirs = shallowRef<readonly Change[]>([])
  const changed = computed<Partial<T>>(() =>
    base.value && draft.value ? changedFields(base.value, draft.value) : {},
  )
  const isChanged = computed(() => Object.keys(changed.value).length > 0)

  function show(fresh: T): void {
    base.value = fresh
    draft.value = copyOf(fresh)
    theirs.value = []
  }

  /** Reads it anew, unless somebody edits it; who begins while the answer is under way keeps what was typed. */
  async function renew<R>(read: () => Promise<R>, take: (fresh: R) => void): Promise<void> {
    if (isChanged.value) return
    const fresh = await read()
    if (!isChanged.value) take(fresh)
  }

  /** Lays the changes over what it is by now. */
  function rebase(now: T): void {
    const [was, mine] = [base.value, draft.value]
    if (!was || !mine) return show(now)
    theirs.value = changesOf(was, now)
    draft.value = copyOf(rebased(was, mine, now))
    base.value = now
  }

  function reset(): void {
    if (base.value) show(base.value)
  }

  useListener(window, 'beforeunload', (event) => {
    if (isChanged.value) event.preventDefault()
  })
  guardLeaving(() => !isChanged.value || confirm(asked()))
  return { base, draft, theirs, changed, isChanged, show, renew, rebase, reset }
}

const copyOf = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T
