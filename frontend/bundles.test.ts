import { describe, expect, it } from 'vitest'
import { consoleModules } from './bundles.ts'

describe("the check of the shopper's bundle", () => {
  it.each([
    '/x/node_modules/element-plus/es/components/button/index.mjs',
    '/x/node_modules/uplot/dist/uPlot.esm.js',
    '/x/frontend/console/main.ts',
  ])('reports the console module %s', (module) => {
    expect(consoleModules(['/x/frontend/src/main.ts', module])).toEqual([module])
  })

  it("accepts the modules of the shopper's page", () => {
    expect(consoleModules(['/x/frontend/src/main.ts', '/x/node_modules/vue/dist/vue.js'])).toEqual([])
  })
})
