import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { asReadonly } from './readonly'

export interface Notice {
  id: number
  level: string
  text: string
  /** What it is about; what the shop tells everybody says so. */
  about?: string
}

/** What an operator tells everybody. */
export const ANNOUNCED = 'announced'

/** A notice about one thing, which stays until the shopper has read it or the thing is over. */
interface Standing extends Notice {
  about: string
  read: () => void
}

const MAX_PASSING = 3

/** What the shop tells everyone and each, and what is read out to those who do not see the page. */
export const useNotices = defineStore('notices', () => {
  const passing = shallowRef<readonly Notice[]>([])
  const standing = shallowRef<readonly Standing[]>([])
  const notices = computed<readonly Readonly<Notice>[]>(() => [...standing.value, ...passing.value])
  /** The latest outcome in a sentence, for a polite live region. */
  const spoken = ref('')
  let next = 1

  /** Tells something; of these only the latest are kept. */
  function post(level: string, text: string): void {
    passing.value = [...passing.value.filter((n) => n.text !== text), { id: next++, level, text }].slice(
      -MAX_PASSING,
    )
    say(text)
  }

  /** Tells about one thing, in place of what was told about it before; `read` is called when the shopper dismisses it. */
  function stand(about: string, level: string, text: string, read: () => void = () => undefined): void {
    const known = standing.value.find((notice) => notice.about === about)
    if (known?.text !== text) say(text)
    const notice = { id: known?.id ?? next++, level, text, about, read }
    standing.value = known
      ? standing.value.map((n) => (n === known ? notice : n))
      : [...standing.value, notice]
  }

  /** The thing is over: nothing more to tell about it. */
  function withdraw(about: string): void {
    standing.value = standing.value.filter((notice) => notice.about !== about)
  }

  function dismiss(id: number): void {
    const known = standing.value.find((notice) => notice.id === id)
    if (known) {
      withdraw(known.about)
      known.read()
    }
    passing.value = passing.value.filter((notice) => notice.id !== id)
  }

  /** Says a sentence; the same one twice in a row is said again. */
  function say(sentence: string): void {
    spoken.value = spoken.value === sentence ? `${sentence}\u00a0` : sentence
  }

  return { notices, spoken: asReadonly(spoken), post, stand, withdraw, dismiss, say }
})
