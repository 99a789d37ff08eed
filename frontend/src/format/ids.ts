/** Compares two 64-bit ids given as decimal strings: negative if `a` is smaller (older). */
export function compareIds(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : a > b ? 1 : 0
}
