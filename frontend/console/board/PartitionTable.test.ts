// @vitest-environment happy-dom
import { createApp, h } from 'vue'
import { expect, it } from 'vitest'
import PartitionTable from './PartitionTable.vue'

const partition = (p: number, away: boolean) => ({
  p,
  lag: 3,
  pending: 1,
  oldest_ms: 0,
  dead: 0,
  deadlines: 7,
  away,
})

it('shows a message instead of numbers for a partition whose Redis is unreachable', () => {
  const place = document.createElement('div')
  const app = createApp(() => h(PartitionTable, { partitions: [partition(0, false), partition(1, true)] }))
  app.mount(place)
  const rows = [...place.querySelectorAll('tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.textContent.trim()),
  )
  expect(rows[0]).toEqual(['0', '3', '1', '–', '0', '7'])
  expect(rows[1]?.[0]).toBe('1')
  expect(rows[1]).toHaveLength(2)
  expect(rows[1]?.[1]).toMatch(/Redis/)
  app.unmount()
})
