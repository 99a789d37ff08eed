import { describe, expect, it } from 'vitest'
import { ServerClock } from './clock'

/** Two clocks that the test moves: ours starts at 0, the server's is 1,000,000 ms ahead. */
function clocks() {
  let elapsed = 0
  const clock = new ServerClock(
    () => elapsed,
    () => 42,
  )
  /** A request and its reply, with the given travel times. */
  const roundTrip = (there: number, back: number): void => {
    const sentAt = elapsed
    const serverNow = sentAt + there + 1_000_000
    elapsed += there + back
    clock.addSample(sentAt, serverNow)
  }
  return { clock, roundTrip, pass: (ms: number) => (elapsed += ms), serverTime: () => elapsed + 1_000_000 }
}

describe('the server clock (I10)', () => {
  it('is the local clock until the first sample', () => {
    const { clock } = clocks()
    expect(clock.now()).toBe(42)
    expect(clock.uncertainty()).toBe(Infinity)
  })

  it('uses the shortest round trip, and its error is at most half of it', () => {
    const { clock, roundTrip, serverTime } = clocks()
    roundTrip(200, 10)
    roundTrip(9, 11)
    roundTrip(5, 300)
    expect(clock.uncertainty()).toBe(10)
    expect(Math.abs(clock.now() - serverTime())).toBeLessThanOrEqual(10)
  })

  it('advances between samples', () => {
    const { clock, roundTrip, pass, serverTime } = clocks()
    roundTrip(5, 5)
    pass(30_000)
    expect(clock.now()).toBe(serverTime())
  })

  it('drops old samples, so that it follows a drifting clock', () => {
    const { clock, roundTrip, pass } = clocks()
    roundTrip(1, 1)
    pass(6 * 60_000)
    roundTrip(20, 20)
    expect(clock.uncertainty()).toBe(20)
  })

  it('accepts the first sample after a sleep, also a slow one', () => {
    const { clock, roundTrip } = clocks()
    roundTrip(1, 1)
    clock.dropSamples()
    roundTrip(50, 50)
    expect(clock.uncertainty()).toBe(50)
  })
})
