import { ref, watch } from 'vue'
import { useNames } from '../composables/useNames'
import { clockTime } from '../format/countdown'
import { useWords } from '../words'
import { defineStore } from './define'
import { useLive } from './live'
import { useNotices } from './notices'
import { usePreferences } from './preferences'
import { useSales } from './sales'

/** The notification appears this long before the opening, in milliseconds. */
const LEAD_MS = 60_000

/** Chrome on Android permits notifications only by a service worker. */
async function show(title: string, options: NotificationOptions): Promise<void> {
  const registration = 'serviceWorker' in navigator && (await navigator.serviceWorker.getRegistration())
  if (registration) await registration.showNotification(title, options)
  else new Notification(title, options)
}

/** Sales of whose opening the open page notifies the shopper. */
export const useReminders = defineStore('reminders', () => {
  const live = useLive()
  const sales = useSales()
  const preferences = usePreferences()
  const notices = useNotices()
  const names = useNames()
  const words = useWords()
  const wanted = ref(new Set<string>())

  /** Requests the permission. Without it, only the calendar reminds the shopper. */
  async function add(sale: string): Promise<void> {
    const permitted = 'Notification' in window && (await Notification.requestPermission()) === 'granted'
    if (permitted) wanted.value.add(sale)
    const { willRemind, calendarOnly } = words.value.details
    notices.post('info', permitted ? willRemind : calendarOnly)
  }

  const opening = (id: string): number => sales.byId.get(id)?.opens_at ?? Infinity
  const due = (): string[] => [...wanted.value].filter((id) => opening(id) - live.now < LEAD_MS)

  async function notify(id: string): Promise<void> {
    const body = words.value.details.opensAt(clockTime(opening(id), preferences.lang))
    try {
      await show(names.ofSale(id), { body, tag: id })
      wanted.value.delete(id)
    } catch (error) {
      console.warn('notification:', error)
    }
  }

  // A failed notification is repeated when the due sales change, not at each tick of the clock.
  watch(
    () => due().join(),
    () => due().forEach((id) => void notify(id)),
  )

  return { add }
})
