import { computed, onScopeDispose, ref } from 'vue'
import { useListener } from '../src/timers'
import { pageAt } from './pages'

const BASE = '/console'

function pathNow(): string {
  return location.pathname.slice(BASE.length).replaceAll(/^\/+|\/+$/g, '')
}

const path = ref(pathNow())
/** The part of the page that the address names; `` for none. */
export const hash = ref(location.hash.slice(1))

/** The address of a page, for links. */
export function hrefOf(to: string): string {
  return to === '' ? BASE : `${BASE}/${to}`
}

/** Each is asked before a page is left by a link: whether it may be. */
const guards = new Set<() => boolean>()

/** Has something asked before the page is left, as long as the scope around it lives. */
export function guardLeaving(mayLeave: () => boolean): void {
  guards.add(mayLeave)
  onScopeDispose(() => guards.delete(mayLeave))
}

/** Goes to a page, or to the part of it behind a `#`, and remembers the way back. */
export function go(to: string): void {
  const [page = '', part = ''] = to.split('#')
  if (page === path.value && part === hash.value) return
  if (page !== path.value && ![...guards].every((mayLeave) => mayLeave())) return
  history.pushState(null, '', hrefOf(to))
  if (page !== path.value && !part) scrollTo(0, 0)
  path.value = page
  hash.value = part
}

function follow(): void {
  path.value = pathNow()
  hash.value = location.hash.slice(1)
}

/** The page of the address bar; call it once, by whatever shows the page. */
export function useRoute() {
  useListener(window, 'popstate', follow)
  const found = computed(() => pageAt(path.value))
  return {
    page: computed(() => found.value.page),
    /** What of the path the page reads itself: an id, mostly. */
    rest: computed(() => found.value.rest),
  }
}
