/** Number of reservations of the sale before the ticket; 0 means next. */
export function placeOf(ticket: number, done: number): number {
  return Math.max(0, ticket - 1 - done)
}

/** The estimated wait in milliseconds, from the recent orders per second; undefined while the rate is 0. */
export function waitOf(place: number, rate: number): number | undefined {
  return rate > 0.05 ? ((place + 1) / rate) * 1000 : undefined
}
