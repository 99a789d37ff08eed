/** How many reservations of the sale are still before the ticket; 0 means next. */
export function placeOf(ticket: number, done: number): number {
  return Math.max(0, ticket - 1 - done)
}

/**
 * About how long until it is this place's turn, in milliseconds, from the orders per second of late;
 * undefined while nothing moves.
 */
export function waitOf(place: number, rate: number): number | undefined {
  return rate > 0.05 ? ((place + 1) / rate) * 1000 : undefined
}
