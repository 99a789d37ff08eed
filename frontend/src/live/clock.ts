/** One round trip: the server clock's lead over ours, and the duration of the trip. */
interface Sample {
  offset: number
  roundTrip: number
  takenAt: number
}

const MAX_SAMPLES = 8
const MAX_AGE_MS = 5 * 60_000

/**
 * An estimate of the server's clock. It uses the shortest round trip, because half of its duration bounds the error.
 * Old samples are dropped, so that the estimate follows a drifting clock.
 */
export class ServerClock {
  #samples: Sample[] = []
  readonly #elapsed: () => number
  readonly #wall: () => number

  /** `elapsed` is our monotonic clock in milliseconds; `wall` is used until the first sample. */
  constructor(elapsed: () => number = () => performance.now(), wall: () => number = () => Date.now()) {
    this.#elapsed = elapsed
    this.#wall = wall
  }

  /** The server's current time, in Unix milliseconds. */
  now(): number {
    const best = this.#best()
    return best ? this.#elapsed() + best.offset : this.#wall()
  }

  /** The maximum error of `now()`, in milliseconds; infinite before the first sample. */
  uncertainty(): number {
    const best = this.#best()
    return best ? best.roundTrip / 2 : Infinity
  }

  /** Adds a sample: the server returned `serverNow` to a request sent at `sentAt` of our monotonic clock. */
  addSample(sentAt: number, serverNow: number): void {
    const now = this.#elapsed()
    const roundTrip = Math.max(0, now - sentAt)
    this.#samples = this.#samples.filter((s) => now - s.takenAt < MAX_AGE_MS).slice(-(MAX_SAMPLES - 1))
    this.#samples.push({ offset: serverNow - (sentAt + now) / 2, roundTrip, takenAt: now })
  }

  /**
   * Makes all samples obsolete, because the monotonic clock may have stopped during sleep. The last one is used until
   * the next sample.
   */
  dropSamples(): void {
    this.#samples = this.#samples.slice(-1).map((s) => ({ ...s, roundTrip: Infinity }))
  }

  #best(): Sample | undefined {
    let best: Sample | undefined
    for (const s of this.#samples) if (!best || s.roundTrip < best.roundTrip) best = s
    return best
  }
}
