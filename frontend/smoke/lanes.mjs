/**
 * Runs parts side by side, at most so many at once, and begins them in their order. One that throws outside of its checks
 * is a failure, and the others go on.
 */
export async function sideBySide(report, lanes, parts) {
  const waiting = [...parts]
  const lane = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      try {
        await part()
      } catch (error) {
        await report.check('the smoke test itself', () => Promise.reject(error))
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}
