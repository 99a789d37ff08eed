import { computed } from 'vue'
import { createRouter, createWebHistory, type RouteLocationNormalizedLoaded } from 'vue-router'
import { takeLink } from './account/links'
import { lazy } from './lazy'

declare module 'vue-router' {
  interface RouteMeta {
    /** The route is a sheet. This is the page below a sheet that was opened by a link. */
    sheet?: 'home' | 'order'
  }
}

const ID = ':id(\\d{1,19})'

/** The link from a mail that has opened the page. It is taken before the router reads the URL. */
export const openedLink = takeLink()

/** The URLs of the page. The server sends the page for these paths; see app/api/page.go. */
export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { name: 'home', path: '/', component: lazy(() => import('./views/HomeView.vue')) },
    { name: 'sale', path: `/sale/${ID}`, component: lazy(() => import('./views/SaleView.vue')) },
    { name: 'orders', path: '/orders', component: lazy(() => import('./views/OrdersView.vue')) },
    {
      name: 'order',
      path: `/order/${ID}`,
      component: lazy(() => import('./views/OrderView.vue')),
      props: true,
    },
    { name: 'pay', path: `/order/${ID}/pay`, components: {}, meta: { sheet: 'order' } },
    { name: 'delivery', path: `/order/${ID}/address`, components: {}, meta: { sheet: 'order' } },
    { name: 'refund', path: `/order/${ID}/refund`, components: {}, meta: { sheet: 'order' } },
    { name: 'cancel', path: `/order/${ID}/cancel`, components: {}, meta: { sheet: 'order' } },
    { name: 'receipt', path: `/order/${ID}/receipt`, components: {}, meta: { sheet: 'order' } },
    { name: 'account', path: '/account/:view([a-z]+)?', components: {}, meta: { sheet: 'home' } },
    { name: 'settings', path: '/settings', components: {}, meta: { sheet: 'home' } },
    { name: 'address', path: '/address', components: {}, meta: { sheet: 'home' } },
    { name: 'text', path: '/shop/:name([a-z]+)', components: {}, meta: { sheet: 'home' } },
    { name: 'challenge', path: '/challenge', components: {}, meta: { sheet: 'home' } },
    { name: 'missing', path: '/:path(.*)*', component: lazy(() => import('./views/MissingView.vue')) },
  ],
  async scrollBehavior(to, from, saved) {
    // A sheet does not scroll the page below it.
    if (to.meta.sheet || from.meta.sheet || to.path === from.path) return false
    if (saved) await untilHigh(saved.top + window.innerHeight)
    return saved ?? { top: 0 }
  },
})

/** Waits until the page has a height, at most one second: its view and its content may still be loading. */
async function untilHigh(height: number): Promise<void> {
  for (let frames = 60; frames > 0 && document.documentElement.scrollHeight < height; frames--)
    await new Promise(requestAnimationFrame)
}

/** The path of the page that opened the displayed sheet; undefined if a link opened it. */
function opener(): string | undefined {
  return (history.state as { opener?: string } | null)?.opener
}

/** The displayed page. While a sheet is open, it is the page below the sheet. */
export const page = computed((): RouteLocationNormalizedLoaded => {
  const route = router.currentRoute.value
  const { sheet } = route.meta
  if (!sheet) return route
  // Its component is loaded by lazy(), not by the router, so a resolved location is also a loaded one.
  return router.resolve(opener() ?? { name: sheet, params: route.params }) as RouteLocationNormalizedLoaded
})

export type SheetName =
  | 'pay'
  | 'delivery'
  | 'refund'
  | 'cancel'
  | 'receipt'
  | 'account'
  | 'settings'
  | 'address'
  | 'text'
  | 'challenge'

/** Reports whether the sheet is open. */
export function isSheetOpen(name: SheetName): boolean {
  return router.currentRoute.value.name === name
}

/** A sheet closes: `requested` until the end of the task, then `leaving` until the browser has gone back. */
let closing: 'requested' | 'leaving' | undefined
/** Opens the next sheet when the browser has gone back. */
let openNext: (() => void) | undefined

router.afterEach(() => {
  closing = undefined
  openNext?.()
})

/** Opens a sheet over the displayed page, so that Back closes it. It replaces another open sheet. */
export function openSheet(
  name: SheetName,
  params: Record<string, string> = {},
  query: Record<string, string> = {},
): void {
  openNext = closing === 'leaving' ? () => openSheet(name, params, query) : undefined
  if (openNext) return
  closing = undefined // the new sheet replaces the one that closes
  const route = router.currentRoute.value
  const isOverSheet = route.meta.sheet !== undefined
  const below = isOverSheet ? opener() : route.fullPath
  void router.push({
    name,
    params,
    query,
    replace: isOverSheet,
    ...(below === undefined ? {} : { state: { opener: below } }),
  })
}

/** Closes the sheet if it is open. */
export function closeSheet(name: SheetName): void {
  if (!isSheetOpen(name) || closing) return
  closing = 'requested'
  queueMicrotask(() => {
    if (closing !== 'requested') return
    closing = 'leaving'
    if (opener() !== undefined) return router.back()
    const { meta, params } = router.currentRoute.value
    void router.replace({ name: meta.sheet ?? 'home', params })
  })
}
