/** formatBytes formats a number of bytes in MiB or GiB. */
export function formatBytes(n: number): string {
  const mib = n / 2 ** 20
  return mib < 1_000 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`
}
