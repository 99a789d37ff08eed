import { createApp } from 'vue'
import ConsoleApp from './ConsoleApp.vue'
import '../src/styles/tokens.css'
import './styles/elements.css'
import './styles/console.css'
import './styles/catalogue.css'

createApp(ConsoleApp).mount('#console')
