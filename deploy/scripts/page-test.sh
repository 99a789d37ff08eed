#!/usr/bin/env bash
# Runs the tests of the page. The last line is `N passed, N failed`. Skipped tests count as failed, and so do test files
# that fail before their first test.
set -euo pipefail
cd "$(dirname "$0")/../.."
report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
export NO_COLOR=1
npm --prefix frontend test --silent -- --reporter=json --outputFile="$report" || status=$?
node - "$report" "$status" <<'JS'
const { readFileSync } = require('node:fs')
const [file, status] = process.argv.slice(2)
let report
try {
  report = JSON.parse(readFileSync(file, 'utf8'))
} catch {
  console.log('the page tests wrote no report')
  console.log('0 passed, 1 failed')
  process.exit(1)
}
const tests = report.testResults.flatMap((f) => f.assertionResults)
const passed = tests.filter((t) => t.status === 'passed').length
const broken = report.testResults.filter((f) => f.status === 'failed' && f.assertionResults.length === 0)
for (const t of tests.filter((t) => t.status !== 'passed' && t.status !== 'failed')) {
  console.log(`${t.fullName} was not run (${t.status}), which counts as failed`)
}
let failed = tests.length - passed + broken.length
if (failed === 0 && (passed === 0 || status !== '0')) failed = 1
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)
JS
