import { defineStore } from './define'
import { ref, watch } from 'vue'
import { useNames } from '../composables/useNames'
import { useWords } from '../words'
import { useLive } from './live'
import { useSales } from './sales'

/** The notification appears this long before the opening, in milliseconds. */
const LEAD_MS = 60_000

/** Sales of whose opening the open page notifies the shopper. */
export const useReminders = defineStore('reminders', () => {
  const live = useLive()
  const sales = useSales()
  const names = useNames()
  const words = useWords()
  const wanted = ref(new Set<string>())

  /** Requests the permission. Without it, only the calendar reminds the shopper. */
  async function add(sale: string): Promise<void> {
    if (!('Notification' in window)) return
    if ((await Notification.requestPermission()) === 'granted') wanted.value.add(sale)
  }

  function notify(id: string): void {
    wanted.value.delete(id)
    try {
      new Notification(names.ofSale(id), { body: words.value.details.opensSoon, tag: id })
    } catch (error) {
      console.warn('notification:', error) // Chrome on Android allows notifications only in a service worker
    }
  }

  watch(
    () => [...wanted.value].filter((id) => (sales.byId.get(id)?.opens_at ?? Infinity) - live.now < LEAD_MS),
    (due) => due.forEach(notify),
  )

  return { add }
})
