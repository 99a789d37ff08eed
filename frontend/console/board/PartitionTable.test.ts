// @vitest-environment happy-dom
import { createPinia } from 'pinia'
import { createApp, h } from 'vue'
import { expect, it } from 'vitest'
import PartitionTable from './PartitionTable.vue'

const of = (p: number, away: boolean) => ({
  p,
  lag: 3,
  pending: 1,
  oldest_ms: 0,
  dead: 0,
  deadlines: 7,
  away,
})

it('shows no numbers of a partition whose server is unreachable', () => {
  const place = document.createElement('div')
  const app = createApp(() => h(PartitionTable, { partitions: [of(0, false), of(1, true)] }))
  app.use(createPinia()).mount(place)
  const rows = [...place.querySelectorAll('tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim()),
  )
  expect(rows[0]).toEqual(['0', '3', '1', '–', '0', '7'])
  expect(rows[1]?.[0]).toBe('1')
  expect(rows[1]).toHaveLength(2)
  expect(rows[1]?.[1]).toMatch(/Redis/)
  app.unmount()
})
