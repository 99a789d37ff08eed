/** One round trip: how far the server's clock is ahead of ours, and how long the trip took. */
interface Sample {
  offset: number
  roundTrip: number
  takenAt: number
}

const MAX_SAMPLES = 8
const MAX_AGE_MS = 5 * 60_000

/**
 * The server's clock as this page knows it. The shortest round trip is the most trustworthy, because half of
 * it is the most that the estimate can be wrong; old samples fall out, so that a drifting clock is followed.
 */
export class ServerClock {
  #samples: Sample[] = []
  readonly #elapsed: () => number
  readonly #wall: () => number

  /** `elapsed` is our monotonic clock in milliseconds; `wall` serves until the first sample. */
  constructor(elapsed: () => number = () => performance.now(), wall: () => number = () => Date.now()) {
    this.#elapsed = elapsed
    this.#wall = wall
  }

  /** The server's time now, in Unix milliseconds. */
  now(): number {
    const best = this.#best()
    return best ? this.#elapsed() + best.offset : this.#wall()
  }

  /** How far `now()` can be off, in milliseconds; infinite before the first answer. */
  uncertainty(): number {
    const best = this.#best()
    return best ? best.roundTrip / 2 : Infinity
  }

  /** Takes in an answer: the server said `serverNow` to a question that was sent at `sentAt` of our monotonic clock. */
  answer(sentAt: number, serverNow: number): void {
    const now = this.#elapsed()
    const roundTrip = Math.max(0, now - sentAt)
    this.#samples = this.#samples.filter((s) => now - s.takenAt < MAX_AGE_MS).slice(-(MAX_SAMPLES - 1))
    this.#samples.push({ offset: serverNow - (sentAt + now) / 2, roundTrip, takenAt: now })
  }

  /** Drops what was learnt: after a sleep the monotonic clock may have stood still. */
  forget(): void {
    this.#samples = this.#samples.slice(-1).map((s) => ({ ...s, roundTrip: Infinity }))
  }

  #best(): Sample | undefined {
    let best: Sample | undefined
    for (const s of this.#samples) if (!best || s.roundTrip < best.roundTrip) best = s
    return best
  }
}
