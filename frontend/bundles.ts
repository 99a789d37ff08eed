import type { Plugin } from 'vite'

/** What operators need and shoppers never load: the console's own sources and the libraries it stands on. */
const CONSOLE_ALONE =
  /\/node_modules\/(element-plus|@element-plus|uplot|dayjs|async-validator)\/|\/frontend\/console\//

/** The modules of a chunk that are the console's alone. */
export function ofConsole(modules: Iterable<string>): string[] {
  return [...modules].filter((module) => CONSOLE_ALONE.test(module))
}

/** Ends the build of the shopper's page when something of the console has got into it. */
export function shoppersOnly(): Plugin {
  return {
    name: 'shoppers-only',
    apply: 'build',
    generateBundle(_, bundle) {
      for (const part of Object.values(bundle)) {
        if (part.type !== 'chunk') continue
        const [strange] = ofConsole(Object.keys(part.modules))
        if (strange)
          this.error(`${part.fileName} would bring ${strange} to every shopper: it is the console's alone`)
      }
    },
  }
}
