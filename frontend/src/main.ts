import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { showReturnedOrder } from './checkout/departure'
import { reloadAfterDeployment } from './lazy'
import { router } from './router'
import { shopPlugin } from './shop/open'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shapes.css'
import './styles/freshness.css'
import './styles/skeleton.css'
import './styles/forced.css'

reloadAfterDeployment()
const app = createApp(App).use(createPinia()).use(router).use(shopPlugin)
void router
  .isReady()
  .then(showReturnedOrder)
  .then(() => app.mount('#app'))
