import { defineStore } from 'pinia'
import { ref } from 'vue'

export interface Notice {
  id: number
  level: string
  text: string
}

const KEPT = 3

/** What the shop tells everyone, and what is read out to those who do not see the page. */
export const useNotices = defineStore('notices', () => {
  const notices = ref<Notice[]>([])
  /** The latest outcome in a sentence, for a polite live region. */
  const spoken = ref('')
  let next = 1

  function post(level: string, text: string): void {
    notices.value = [...notices.value.filter((n) => n.text !== text), { id: next++, level, text }].slice(
      -KEPT,
    )
  }

  function dismiss(id: number): void {
    notices.value = notices.value.filter((notice) => notice.id !== id)
  }

  /** Says a sentence; the same one twice in a row is said again. */
  function say(sentence: string): void {
    spoken.value = spoken.value === sentence ? `${sentence}\u00a0` : sentence
  }

  return { notices, spoken, post, dismiss, say }
})
