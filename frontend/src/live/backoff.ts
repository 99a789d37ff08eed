const FIRST_MS = 400
const CEILING_MS = 15_000

/**
 * The pause before the n-th attempt (0 is the first after a loss), in milliseconds. The jitter spreads thousands of
 * pages that lost the same server at the same instant.
 */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(CEILING_MS, FIRST_MS * 2 ** Math.min(attempt, 10))
  return Math.round(ceiling * (0.5 + random() / 2))
}

/** The close code of a server that stops as planned. */
export const DRAIN = 4000

/** The close code of a connection whose token expired without a `renew`: reconnect with a new token. */
export const TOKEN_ENDED = 4504

/** The token was revoked: the user signed out or changed the password. */
export const SIGNED_OUT = 4506

/** An operator has blocked the user or the address. */
export const BLOCKED = 4507

/** Reports whether a client may reconnect: always, except after the close codes 4500–4999. */
export function mayReconnect(closeCode: number): boolean {
  return closeCode < 4500 || closeCode > 4999
}
