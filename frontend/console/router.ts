import { computed, onScopeDispose, ref } from 'vue'
import { useListener } from '../src/timers'
import { pageAt } from './pages'

const BASE = '/console'

function pathNow(): string {
  return location.pathname.slice(BASE.length).replaceAll(/^\/+|\/+$/g, '')
}

const path = ref(pathNow())
/** The fragment of the address, without `#`; empty by default. */
export const hash = ref(location.hash.slice(1))

/** The URL of a page, for links. */
export function hrefOf(to: string): string {
  return to === '' ? BASE : `${BASE}/${to}`
}

/** Guards that run before a link leaves the page. A guard that returns false prevents it. */
const guards = new Set<() => boolean>()

/** Registers a guard for the lifetime of the current scope. */
export function guardLeaving(mayLeave: () => boolean): void {
  guards.add(mayLeave)
  onScopeDispose(() => guards.delete(mayLeave))
}

/** Opens a page, or the element named by a `#` fragment, and adds a history entry. */
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

/** The page of the current URL. The component that renders the page calls this once. */
export function useRoute() {
  useListener(window, 'popstate', follow)
  const found = computed(() => pageAt(path.value))
  return {
    page: computed(() => found.value.page),
    /** The part of the path that `*` matches, mostly an id. */
    pathRest: computed(() => found.value.pathRest),
  }
}
