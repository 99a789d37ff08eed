import { computed, ref, shallowRef } from 'vue'
import { defineStore } from './define'
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

/** A message about one subject. It stays until the shopper dismisses it or the page withdraws it. */
interface PinnedNotice extends Notice {
  about: string
  onDismiss: () => void
}

const MAX_TRANSIENT = 3

/** All messages to the shopper, and the announcements for screen readers. */
export const useNotices = defineStore('notices', () => {
  const transient = shallowRef<readonly Notice[]>([])
  const pinned = shallowRef<readonly PinnedNotice[]>([])
  const notices = computed<readonly Readonly<Notice>[]>(() => [...pinned.value, ...transient.value])
  /** The latest outcome in a sentence, for a polite live region. */
  const announcement = ref('')
  let next = 1

  /** Adds a message; only the latest ones are kept. */
  function post(level: string, text: string): void {
    transient.value = [...transient.value.filter((n) => n.text !== text), { id: next++, level, text }].slice(
      -MAX_TRANSIENT,
    )
    announce(text)
  }

  /** Shows a message about a subject and replaces the previous one; `read` is called when the shopper dismisses it. */
  function pin(about: string, level: string, text: string, onDismiss: () => void = () => undefined): void {
    const known = pinned.value.find((notice) => notice.about === about)
    if (known?.text !== text) announce(text)
    const notice = { id: known?.id ?? next++, level, text, about, onDismiss }
    pinned.value = known ? pinned.value.map((n) => (n === known ? notice : n)) : [...pinned.value, notice]
  }

  /** Removes the message about a subject. */
  function withdraw(about: string): void {
    pinned.value = pinned.value.filter((notice) => notice.about !== about)
  }

  function dismiss(id: number): void {
    const known = pinned.value.find((notice) => notice.id === id)
    if (known) {
      withdraw(known.about)
      known.onDismiss()
    }
    transient.value = transient.value.filter((notice) => notice.id !== id)
  }

  /** Announces a sentence to screen readers, also if it equals the previous one. */
  function announce(sentence: string): void {
    announcement.value = announcement.value === sentence ? `${sentence}\u00a0` : sentence
  }

  return { notices, announcement: asReadonly(announcement), post, pin, withdraw, dismiss, announce }
})
