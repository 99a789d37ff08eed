import { defineAsyncComponent, type Component } from 'vue'
import type { ConsoleWords } from './words'
import type { shapes } from './shell/icons'

/**
 * A page of the console. Its path is relative to /console. `*` matches the rest of the path, which the page gets as the
 * prop `pathRest`.
 */
export interface ConsolePage {
  path: string
  /** The key of the page in the navigation texts. */
  name: keyof ConsoleWords['pages']
  icon: keyof typeof shapes
  /** The group of the navigation. A page without a group is opened from another page. */
  group?: keyof ConsoleWords['groups']
  view: Component
}

/** All pages, in the order of the navigation. A page's code is loaded when it is opened. */
export const pages: readonly ConsolePage[] = [
  {
    path: '',
    name: 'board',
    icon: 'pulse',
    group: 'live',
    view: defineAsyncComponent(() => import('./board/BoardPage.vue')),
  },
  {
    path: 'sales/new',
    name: 'sales',
    icon: 'tag',
    view: defineAsyncComponent(() => import('./catalogue/SaleNewPage.vue')),
  },
  {
    path: 'sales/new/*',
    name: 'sales',
    icon: 'tag',
    view: defineAsyncComponent(() => import('./catalogue/SaleNewPage.vue')),
  },
  {
    path: 'sales/*/terms',
    name: 'sales',
    icon: 'tag',
    view: defineAsyncComponent(() => import('./catalogue/SaleTermsPage.vue')),
  },
  {
    path: 'sales/slot-*',
    name: 'sales',
    icon: 'tag',
    view: defineAsyncComponent(() => import('./catalogue/SalesPage.vue')),
  },
  {
    path: 'sales/*',
    name: 'sale',
    icon: 'tag',
    view: defineAsyncComponent(() => import('./operations/SalePage.vue')),
  },
  {
    path: 'broadcast',
    name: 'broadcast',
    icon: 'horn',
    group: 'live',
    view: defineAsyncComponent(() => import('./shop/BroadcastPage.vue')),
  },
  {
    path: 'blocks',
    name: 'blocks',
    icon: 'shield',
    group: 'live',
    view: defineAsyncComponent(() => import('./shop/BlocksPage.vue')),
  },
  {
    path: 'runbook',
    name: 'runbook',
    icon: 'compass',
    group: 'live',
    view: defineAsyncComponent(() => import('./runbook/RunbookPage.vue')),
  },
  {
    path: 'reports/*',
    name: 'report',
    icon: 'chart',
    view: defineAsyncComponent(() => import('./report/ReportPage.vue')),
  },
  {
    path: 'sales',
    name: 'sales',
    icon: 'tag',
    group: 'shop',
    view: defineAsyncComponent(() => import('./catalogue/SalesPage.vue')),
  },
  {
    path: 'slots',
    name: 'slots',
    icon: 'days',
    group: 'shop',
    view: defineAsyncComponent(() => import('./catalogue/SlotsPage.vue')),
  },
  {
    path: 'slots/*',
    name: 'slots',
    icon: 'days',
    view: defineAsyncComponent(() => import('./catalogue/SlotsPage.vue')),
  },
  {
    path: 'products',
    name: 'products',
    icon: 'box',
    group: 'shop',
    view: defineAsyncComponent(() => import('./catalogue/ProductsPage.vue')),
  },
  {
    path: 'products/*',
    name: 'products',
    icon: 'box',
    view: defineAsyncComponent(() => import('./catalogue/ProductPage.vue')),
  },
  {
    path: 'categories',
    name: 'categories',
    icon: 'tree',
    group: 'shop',
    view: defineAsyncComponent(() => import('./catalogue/CategoriesPage.vue')),
  },
  {
    path: 'tables',
    name: 'tables',
    icon: 'table',
    group: 'shop',
    view: defineAsyncComponent(() => import('./catalogue/TablesPage.vue')),
  },
  {
    path: 'orders',
    name: 'orders',
    icon: 'receipt',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/OrdersPage.vue')),
  },
  {
    path: 'orders/*',
    name: 'orders',
    icon: 'receipt',
    view: defineAsyncComponent(() => import('./aftersale/OrdersPage.vue')),
  },
  {
    path: 'refunds',
    name: 'refunds',
    icon: 'money',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/RefundsPage.vue')),
  },
  {
    path: 'ship',
    name: 'ship',
    icon: 'truck',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/ShipPage.vue')),
  },
  {
    path: 'payments',
    name: 'payments',
    icon: 'card',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/PaymentsPage.vue')),
  },
  {
    path: 'users',
    name: 'users',
    icon: 'people',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/UsersPage.vue')),
  },
  {
    path: 'users/*',
    name: 'users',
    icon: 'people',
    view: defineAsyncComponent(() => import('./aftersale/UsersPage.vue')),
  },
  {
    path: 'leftovers',
    name: 'failedJobs',
    icon: 'letter',
    group: 'after',
    view: defineAsyncComponent(() => import('./aftersale/FailedJobsPage.vue')),
  },
  {
    path: 'journal',
    name: 'journal',
    icon: 'book',
    group: 'after',
    view: defineAsyncComponent(() => import('./journal/JournalPage.vue')),
  },
]

/** Returns the page of a path, and the part of the path that `*` matches. An unknown path returns the first page. */
export function pageAt(path: string): { page: ConsolePage; pathRest: string } {
  for (const page of pages) {
    if (page.path === path) return { page, pathRest: '' }
    const [before, after] = page.path.split('*')
    if (after === undefined || !before || !path.startsWith(before) || !path.endsWith(after)) continue
    const pathRest = path.slice(before.length, path.length - after.length)
    if (pathRest) return { page, pathRest }
  }
  return { page: pages[0] as ConsolePage, pathRest: '' }
}
