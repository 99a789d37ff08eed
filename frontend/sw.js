/* global BUILD, FILES -- the build adds these constants: the hash and the paths of the shell; see shell.ts */

// The service worker of the shopper's page. Without a network it serves the built files, so that a reload shows the
// shop with the offline notice. A new build replaces the cache when no page of the old build is open.

const NAME = `shell-${BUILD}`
const START = '/'
/** Paths that are not the shopper's page. */
const OTHERS = /^\/(api|ws|console|docs|images)(\/|$)/

self.addEventListener('install', (event) => {
  // index.html and the files must be of one build, so the HTTP cache is checked; names in /assets/ contain a hash.
  const mode = (path) => (path.startsWith('/assets/') ? 'default' : 'no-cache')
  const requests = [START, ...FILES].map((path) => new Request(path, { cache: mode(path) }))
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(requests)))
})

async function replaceOld() {
  const names = await caches.keys()
  await Promise.all(names.filter((name) => name !== NAME).map((name) => caches.delete(name)))
  await self.clients.claim()
}
self.addEventListener('activate', (event) => event.waitUntil(replaceOld()))

/** The cached response; a cached page is of the language at the installation. */
const cached = (path) => caches.match(path, { ignoreVary: true })

self.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== self.location.origin || OTHERS.test(pathname)) return
  if (request.mode === 'navigate')
    event.respondWith(fetch(request).catch(async () => (await cached(START)) ?? Response.error()))
  else if (FILES.includes(pathname))
    event.respondWith(cached(pathname).then((response) => response ?? fetch(request)))
})

/** Focuses an open page of the shop. */
async function focusPage() {
  const clients = await self.clients.matchAll({ type: 'window' })
  const page = clients.find(({ url }) => !OTHERS.test(new URL(url).pathname))
  await (page ? page.focus() : self.clients.openWindow(START))
}
self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(focusPage())
})
