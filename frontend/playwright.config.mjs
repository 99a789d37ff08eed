import { defineConfig } from '@playwright/test'

const full = Boolean(process.env.SMOKE_TRACE)

export default defineConfig({
  testDir: 'smoke',
  outputDir: '../.run/browser',
  reporter: './smoke/reporter.mjs',
  forbidOnly: true,
  fullyParallel: true,
  workers: 4, // more than processors, because a test also waits
  timeout: 300_000,
  projects: [
    { name: 'smoke', testIgnore: ['cost.spec.mjs', 'sheets.spec.mjs'] },
    { name: 'cost', testMatch: 'cost.spec.mjs', fullyParallel: false },
    { name: 'sheets', testMatch: 'sheets.spec.mjs' },
  ],
  use: {
    serviceWorkers: 'block', // it would load all files in each test; page.route does not see its requests
    actionTimeout: 60_000,
    navigationTimeout: 60_000,
    screenshot: 'only-on-failure',
    // Snapshots in a trace cost a third more processor time, and screenshots several times as much.
    trace: { mode: 'retain-on-failure', screenshots: full, snapshots: full, sources: false },
    launchOptions: {
      executablePath: process.env.CHROMIUM || '/usr/bin/chromium-headless-shell',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
})
