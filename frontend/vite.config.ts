import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vitest/config'
import { shoppersOnly } from './bundles.ts'
import { serviceWorker } from './shell.ts'

const server = '127.0.0.1:8080'

export default defineConfig({
  plugins: [vue({ features: { optionsAPI: false } }), shoppersOnly(), serviceWorker()],
  server: {
    fs: { allow: ['.', '../deploy/RUNBOOK.md'] }, // the console shows the runbook
    proxy: {
      '/api': `http://${server}`,
      '/ws': { target: `ws://${server}`, ws: true },
    },
  },
  build: {
    // The first versions with light-dark(); all other features in use are older.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // The server's content security policy forbids data: URLs and inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // One file with all that the entry imports: it compresses better than parts by their later users.
            { name: 'shop', tags: ['$initial'] },
            // The modules that cards and the sale page share, with their imports.
            { name: 'sale', test: /\/(BuyPanel|SalePrice|StockBar)\.vue$/ },
          ],
        },
      },
    },
  },
  test: {
    setupFiles: ['src/testing/words.ts'],
    include: ['src/**/*.test.ts', 'console/**/*.test.ts', '*.test.ts'],
    testTimeout: 60_000, // a busy machine must not fail a test
    server: { deps: { inline: ['element-plus'] } },
  },
})
