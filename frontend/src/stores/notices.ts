import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { asReadonly } from './readonly'

export interface Notice {
  id: number
  level: string
  text: string
  /** The subject of the message; ANNOUNCED for the operators' banner. */
  about?: string
}

/** The subject of the operators' banner. */
export const ANNOUNCED = 'announced'

/** A message about one subject. It stays until the shopper dismisses it or it is withdrawn. */
interface Standing extends Notice {
  about: string
  read: () => void
}

const MAX_PASSING = 3

/** All messages to the shopper, and the announcements for screen readers. */
export const useNotices = defineStore('notices', () => {
  const passing = shallowRef<readonly Notice[]>([])
  const standing = shallowRef<readonly Standing[]>([])
  const notices = computed<readonly Readonly<Notice>[]>(() => [...standing.value, ...passing.value])
  /** The latest outcome in a sentence, for a polite live region. */
  const announcement = ref('')
  let next = 1

  /** Adds a message; only the latest ones are kept. */
  function post(level: string, text: string): void {
    passing.value = [...passing.value.filter((n) => n.text !== text), { id: next++, level, text }].slice(
      -MAX_PASSING,
    )
    announce(text)
  }

  /** Shows a message about a subject and replaces the previous one; `read` is called when the shopper dismisses it. */
  function stand(about: string, level: string, text: string, read: () => void = () => undefined): void {
    const known = standing.value.find((notice) => notice.about === about)
    if (known?.text !== text) announce(text)
    const notice = { id: known?.id ?? next++, level, text, about, read }
    standing.value = known
      ? standing.value.map((n) => (n === known ? notice : n))
      : [...standing.value, notice]
  }

  /** Removes the message about a subject. */
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

  /** Announces a sentence to screen readers, also if it equals the previous one. */
  function announce(sentence: string): void {
    announcement.value = announcement.value === sentence ? `${sentence}\u00a0` : sentence
  }

  return { notices, announcement: asReadonly(announcement), post, stand, withdraw, dismiss, announce }
})
