import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The limit of every wait, far above the needs of a busy machine. */
export const LIMIT_MS = 60_000
/** A check consists of several waits. */
const CHECK_LIMIT_MS = 4 * LIMIT_MS
/** The maximum number of printed lines of an error, which include the call log of a locator. */
const ERROR_LINES = 24
/** Screenshots and traces of failed checks. */
const EVIDENCE = new URL('../../.run/browser/', import.meta.url).pathname

/** The resources of the running part: its browser contexts, and functions that release the rest. */
const running = new AsyncLocalStorage()

/** Registers a browser context. Failed checks save its trace, and it is closed at the end of the part. */
export function ownContext(context) {
  const contexts = running.getStore()?.contexts
  contexts?.add(context)
  context.on('close', () => contexts?.delete(context))
}

/** Registers a function that runs at the end of the part. */
export function atEnd(release) {
  running.getStore()?.releases.push(release)
}

/** Counts checks and prints one line for each. */
export class Report {
  passed = 0
  failed = 0

  constructor() {
    rmSync(EVIDENCE, { recursive: true, force: true })
  }

  /** Runs a check, which fails if `run` throws. Returns whether it passed. */
  async check(name, run) {
    const from = performance.now()
    const seconds = () => ((performance.now() - from) / 1_000).toFixed(1).padStart(5)
    try {
      await within(CHECK_LIMIT_MS, run())
      this.passed++
      console.log(`ok    ${seconds()} s  ${name}`)
      return true
    } catch (error) {
      this.failed++
      const lines = String(error.message ?? error).split('\n')
      const files = await saveEvidence(name)
      console.log(
        [`FAIL  ${seconds()} s  ${name}`, ...lines.slice(0, ERROR_LINES), ...files].join('\n      '),
      )
      return false
    }
  }

  /**
   * Runs parts in parallel, at most `lanes` at once, and starts them in order. An error outside of a check fails only
   * its part.
   */
  async run(lanes, parts) {
    const waiting = [...parts]
    const lane = async () => {
      for (let part = waiting.shift(); part; part = waiting.shift())
        await running.run({ contexts: new Set(), releases: [] }, () => this.#runPart(part))
    }
    await Promise.all(Array.from({ length: lanes }, lane))
  }

  async #runPart(part) {
    const { contexts, releases } = running.getStore()
    try {
      await part()
    } catch (error) {
      await this.check('outside of a check', () => Promise.reject(error))
    }
    await Promise.all([...contexts].map((context) => context.close()))
    for (const release of releases) await release()
  }

  /** Prints the totals as the last line and sets the exit code. */
  end() {
    console.log(`${this.passed} passed, ${this.failed} failed`)
    process.exitCode = this.failed > 0 || this.passed === 0 ? 1 : 0
  }
}

/** Saves a screenshot of every page of the running part and a trace of every context. Returns the paths. */
async function saveEvidence(name) {
  const files = []
  const path = (type, n) =>
    join(EVIDENCE, `${name.replace(/[^\w]+/g, '-').slice(0, 100)}${n > 0 ? `-${n + 1}` : ''}.${type}`)
  const save = async (file, write) => {
    await write(file)
      .then(() => files.push(file))
      .catch((error) => files.push(`not saved: ${error.message}`))
  }
  mkdirSync(EVIDENCE, { recursive: true })
  const contexts = [...(running.getStore()?.contexts ?? [])]
  for (const [n, page] of contexts.flatMap((context) => context.pages()).entries())
    await save(path('png', n), (file) => page.screenshot({ path: file }))
  for (const [n, { tracing }] of contexts.entries()) {
    await save(path('zip', n), (file) => tracing.stopChunk({ path: file }))
    await tracing.startChunk()
  }
  return files
}

async function within(ms, done) {
  let timer
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the check did not end within ${ms / 1_000} s`)), ms)
  })
  try {
    return await Promise.race([done, timeout])
  } finally {
    clearTimeout(timer)
  }
}
