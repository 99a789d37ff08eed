import { createApp } from 'vue'
import App from './App.vue'
import { reloadAfterDeployment } from './lazy'
import { shopPlugin } from './shop/open'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shapes.css'
import './styles/freshness.css'
import './styles/skeleton.css'
import './styles/forced.css'

reloadAfterDeployment()
createApp(App).use(shopPlugin).mount('#app')
