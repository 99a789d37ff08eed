import { createApp } from 'vue'
import { repeated } from '../src/lazy'
import { usePreferences } from '../src/stores/preferences'
import { loadWords } from '../src/words'
import ConsoleApp from './ConsoleApp.vue'
import '../src/styles/tokens.css'
import './styles/elements.css'
import './styles/console.css'
import './styles/catalogue.css'

// The tables of orders use texts of the shopper's page.
void repeated(async () => loadWords(usePreferences().lang)).then(() =>
  createApp(ConsoleApp).mount('#console'),
)
