import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { asReadonly } from '../../src/stores/readonly'
import { useApi } from '../api'

export interface Outcome {
  readonly text: string
  /** The row of the journal by which it can be taken back. */
  readonly undo?: number
}

/** What was done last, in a sentence, with the way to take it back where there is one. */
export const useOutcomes = defineStore('outcomes', () => {
  const api = useApi()
  const latest = shallowRef<Outcome>()
  /** Grows with every act that is done: whoever shows what acts change reads it anew. */
  const count = shallowRef(0)

  async function tell(text: string, object?: string): Promise<void> {
    const outcome = { text }
    latest.value = outcome
    count.value++
    if (!object) return
    const { items } = await api.journal({ object, limit: 1 }).catch(() => ({ items: [] }))
    const [newest] = items
    if (newest?.undoable && latest.value === outcome) latest.value = { text, undo: newest.seq }
  }

  function close(): void {
    latest.value = undefined
  }

  return { latest: asReadonly(latest), count: asReadonly(count), tell, close }
})
