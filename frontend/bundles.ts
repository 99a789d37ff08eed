import type { Plugin } from 'vite'

/** Modules that only operators need: the console's own sources and its libraries. Shoppers must never load them. */
const CONSOLE_MODULES =
  /\/node_modules\/(element-plus|@element-plus|uplot|dayjs|async-validator)\/|\/frontend\/console\//

/** consoleModules returns the modules of a chunk that belong only to the console. */
export function consoleModules(modules: Iterable<string>): string[] {
  return [...modules].filter((module) => CONSOLE_MODULES.test(module))
}

/** Fails the build of the shopper's page if it includes a console module. */
export function shoppersOnly(): Plugin {
  return {
    name: 'shoppers-only',
    apply: 'build',
    generateBundle(_, bundle) {
      for (const part of Object.values(bundle)) {
        if (part.type !== 'chunk') continue
        const [consoleFiles] = consoleModules(Object.keys(part.modules))
        if (consoleFiles)
          this.error(`${part.fileName} contains ${consoleFiles}, which only the console may load`)
      }
    },
  }
}
