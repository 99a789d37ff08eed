import { shallowRef } from 'vue'
import { defineStore } from '../../src/stores/define'
import { asReadonly } from '../../src/stores/readonly'

/** An ordinary operation that reverses another one. */
export interface Inverse {
  /** The text of the button. */
  readonly label: string
  readonly send: (key: string) => Promise<unknown>
  /** The text to show after the inverse operation. */
  readonly doneText: string
}

export interface Outcome {
  readonly text: string
  readonly inverse?: Inverse | undefined
}

/** The last operation in one sentence, with its inverse where one exists. */
export const useOutcomes = defineStore('outcomes', () => {
  const latest = shallowRef<Outcome>()
  /** Grows with every operation. Components that show the changed data then reload their data. */
  const count = shallowRef(0)

  function show(text: string, inverse?: Inverse): void {
    latest.value = { text, inverse }
    count.value++
  }

  function close(): void {
    latest.value = undefined
  }

  return { latest: asReadonly(latest), count: asReadonly(count), show, close }
})
