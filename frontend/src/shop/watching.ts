import { watch } from 'vue'
import { Lost, Refused } from '../live/requests'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useSales } from '../stores/sales'
import { useSlots } from '../stores/slots'

const RETRY_MS = 1_000

/** Watches the slot that the page shows, and only that one. */
export function openWindow(socket: LiveSocket) {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  /** What this connection watches. */
  let watched: string | undefined
  let timer: ReturnType<typeof setTimeout>

  /** Asks for the shown slot, or for the current one while no slot is known. */
  async function look(): Promise<void> {
    clearTimeout(timer)
    if (!live.isLive) return
    const before = watched
    const slot = slots.shown?.id
    watched = slot
    if (before && before !== slot) socket.request('unwatch', { slot: before }).catch(() => undefined)
    try {
      const view = await socket.request('watch', slot ? { slot } : {})
      slots.replace(view.slots)
      const told = slot ?? view.sales[0]?.slot ?? slots.current?.id
      if (told) sales.replaceSlot(told, view.sales)
      watched ??= told
    } catch (error) {
      if (error instanceof Lost) return
      // A pinned slot may be gone from the day; anything else is asked again.
      if (error instanceof Refused && error.refusal.code === 'not_found') slots.unpin()
      const pause = error instanceof Refused ? error.refusal.retry_ms : 0
      timer = setTimeout(() => void look(), pause || RETRY_MS)
    }
  }

  watch(
    () => slots.shown?.id,
    (id) => {
      if (id !== undefined && id !== watched) void look()
    },
  )

  /** A new connection watches nothing yet. */
  function welcomed(): void {
    watched = undefined
    void look()
  }

  return { welcomed }
}
