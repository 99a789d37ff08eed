import { stripVTControlCharacters } from 'node:util'

/** The maximum number of printed lines of an error, which include the call log of a locator. */
const ERROR_LINES = 24

/**
 * Counts and prints the steps of each test; a test without steps counts as one. The last line is `N passed, M failed`,
 * which deploy/scripts/test.sh adds to its total.
 */
export default class Reporter {
  passed = 0
  failed = 0

  onStdOut(text) {
    process.stdout.write(text)
  }

  onStdErr(text) {
    process.stderr.write(text)
  }

  onTestEnd(test, { status, duration, steps, errors, attachments }) {
    const name = test.titlePath().slice(3).join(', ')
    const checks = steps.filter(({ category }) => category === 'test.step')
    for (const { title, duration, error } of checks) if (!error) this.#pass(duration, `${name}: ${title}`)
    if (status !== 'passed') {
      const broken = checks.find(({ error }) => error)
      const files = attachments.map(({ path }) => path)
      this.#fail(duration, broken ? `${name}: ${broken.title}` : name, errors, files)
    } else if (checks.length === 0) this.#pass(duration, name)
  }

  /** An error outside of the tests, for example in a file or in the pattern. */
  onError(error) {
    this.#fail(0, 'outside of a test', [error])
  }

  onEnd() {
    console.log(`${this.passed} passed, ${this.failed} failed`)
  }

  #pass(ms, name) {
    this.passed++
    console.log(`ok    ${seconds(ms)}  ${name}`)
  }

  #fail(ms, name, errors, files = []) {
    this.failed++
    const lines = errors.flatMap(({ stack, message, value }) =>
      stripVTControlCharacters(stack ?? message ?? value)
        .split('\n')
        .slice(0, ERROR_LINES),
    )
    console.log([`FAIL  ${seconds(ms)}  ${name}`, ...lines, ...files].join('\n      '))
  }
}

const seconds = (ms) => `${(ms / 1_000).toFixed(1).padStart(5)} s`
