/** How much of an error is shown: also of what was tried before it, which a locator tells. */
const LINES = 24

/** Longer than any check takes: what waits for ever in the browser fails, and what comes after it is seen. */
const LONGEST_MS = 240_000

/** Counts checks and prints one line for each. */
export class Report {
  passed = 0
  failed = 0

  /** Runs a check; whatever it throws is its failure. True when it passed. */
  async check(name, run) {
    const from = performance.now()
    const took = () => ((performance.now() - from) / 1_000).toFixed(1).padStart(5)
    try {
      await within(LONGEST_MS, run())
      this.passed++
      console.log(`ok    ${took()} s  ${name}`)
      return true
    } catch (error) {
      this.failed++
      console.log(
        `FAIL  ${took()} s  ${name}\n      ${String(error.message ?? error)
          .split('\n')
          .slice(0, LINES)
          .join('\n      ')}`,
      )
      return false
    }
  }

  /** Prints the sum, the last line; the exit code follows from it. */
  end() {
    console.log(`${this.passed} passed, ${this.failed} failed`)
    process.exitCode = this.failed > 0 || this.passed === 0 ? 1 : 0
  }
}

async function within(ms, done) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms / 1_000} s`)), ms)
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}
