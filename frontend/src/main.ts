import { createApp } from 'vue'
import App from './App.vue'
import { reloadAfterDeployment, repeated } from './lazy'
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
// Not a top-level await: the texts import parts of this module's chunk, which would wait for itself.
void repeated(async () => loadWords(usePreferences().lang)).then(() =>
  createApp(App).use(shopPlugin).mount('#app'),
)
