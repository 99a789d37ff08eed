import { beforeEach, expect, it } from 'vitest'
import { freshStores } from './define'
import { useRates, WINDOW_MS } from './rates'

beforeEach(() => freshStores())

it('keeps a gap where nothing was measured', () => {
  const rates = useRates()
  rates.sample(1_000, true)
  rates.sample(1_500, true)
  rates.sample(2_000, false)
  rates.sample(2_500, true)
  rates.sample(9_000, true) // the timer was suspended
  expect(rates.samples.map(({ at, joined }) => [at, joined])).toEqual([
    [1_000, false],
    [1_500, true],
    [2_500, false],
    [9_000, false],
  ])
})

it('drops samples by their time', () => {
  const rates = useRates()
  rates.sample(1_000, true)
  rates.sample(1_000 + WINDOW_MS, false)
  expect(rates.samples).toEqual([])
})
