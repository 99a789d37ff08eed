import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'

/**
 * The operators' console, built by itself and after the shopper's page into the same folder: the two share no file, so
 * neither can make the other one larger.
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
