import { createApp } from 'vue'
import App from './App.vue'
import { showReturnedOrder } from './checkout/departure'
import { reloadAfterDeployment, repeated } from './lazy'
import { router } from './router'
import { shopPlugin } from './shop/open'
import { usePreferences } from './stores/preferences'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shapes.css'
import './styles/freshness.css'
import './styles/skeleton.css'
import './styles/forced.css'
import { loadWords } from './words'

reloadAfterDeployment()
const app = createApp(App).use(router)
// Not a top-level await: the texts import parts of this module's chunk, which would wait for itself.
void Promise.all([
  repeated(async () => loadWords(usePreferences().lang)),
  router.isReady().then(showReturnedOrder),
]).then(() => app.use(shopPlugin).mount('#app')) // the shop shows texts of earlier attempts at once

// The worker serves the shop's files without a network. It is installed after the page has loaded.
if (import.meta.env.PROD && 'serviceWorker' in navigator)
  window.addEventListener('load', () => {
    navigator.serviceWorker
      .register('/sw.js')
      .catch((error: unknown) => console.warn('no service worker:', error))
  })
