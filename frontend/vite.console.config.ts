import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

/**
 * Builds the operators' console after the shopper's page, into the same folder. The two share no file, so neither can
 * enlarge the other.
 */
export default defineConfig({
  plugins: [vue()],
  publicDir: false,
  build: {
    target: ['chrome123', 'firefox120', 'safari17.5'],
    emptyOutDir: false,
    assetsDir: 'console/assets',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: '.vite/console.json',
    chunkSizeWarningLimit: 1000,
    rolldownOptions: { input: 'console.html' },
  },
})
