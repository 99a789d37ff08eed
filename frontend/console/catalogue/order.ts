/** The list with one item moved by one position, to the front (-1) or to the end (1). */
export function moveItem<T>(items: readonly T[], at: number, by: -1 | 1): T[] {
  const [item, other] = [items[at], items[at + by]]
  if (item === undefined || other === undefined) return [...items]
  return items.map((one, i) => (i === at ? other : i === at + by ? item : one))
}

/** Returns the items whose position changes in the order `wanted`, with their new positions; as few as possible. */
export function changedPositions<T extends { readonly position: number }>(
  wanted: readonly T[],
): { item: T; position: number }[] {
  const positions = wanted.map(({ position }) => position).sort((a, b) => a - b)
  const distinct = new Set(positions).size === positions.length
  return wanted
    .map((item, i) => ({ item, position: distinct ? (positions[i] ?? i) : i }))
    .filter(({ item, position }) => item.position !== position)
}
