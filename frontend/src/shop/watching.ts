import { computed, watch } from 'vue'
import { Refused } from '../live/ops'
import type { Ask, LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useSales } from '../stores/sales'
import { phaseAt, useSlots } from '../stores/slots'
import { useTimer } from '../timers'

const RETRY_MS = 1_000
/** The next slot is watched this long before it opens, so that its sales are there at the very instant. */
const LEAD_MS = 10_000

/**
 * Watches the slot that the page shows and, shortly before it opens, the next one. A slot that has ended is read once
 * and let go, and instead the one is watched that the shopper goes on to.
 */
export function openWatching(socket: LiveSocket) {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  /** Another lead for each page: not all of them ask at once. */
  const lead = LEAD_MS * (1 + Math.random())
  /** Slots that this connection watches. */
  const watched = new Set<string>()
  /** The current slot was asked for, whichever it is, and the answer is still to come. */
  let asked = false
  const request: Ask = (op, fields) => socket.request(op, fields)
  const retry = useTimer()

  const ahead = computed(() =>
    slots.slots.find(({ opens_at }) => opens_at > live.now && opens_at - live.now < lead),
  )
  const onShow = computed(() => {
    const slot = slots.shown
    const over = slot && phaseAt(slot, live.now) === 'closed' && sales.readSlots.has(slot.id)
    return over ? slots.next : slot
  })
  const wanted = computed(
    () => new Set([onShow.value, ahead.value].flatMap((slot) => (slot ? [slot.id] : []))),
  )

  /** Asks for a slot, or for the current one while none is known. */
  async function look(slot?: string, ask = request): Promise<void> {
    if (slot) watched.add(slot)
    else asked = true
    try {
      const view = await ask('watch', slot ? { slot } : {})
      const told = slot ?? view.sales[0]?.slot
      if (told) {
        watched.add(told)
        sales.replaceSlot(told, view.sales)
      }
      slots.replace(view.slots)
      if (!slot) asked = false
    } catch (error) {
      if (slot) watched.delete(slot)
      else asked = false
      const refusal = error instanceof Refused ? error.refusal : undefined
      // The slot is gone from the day: it stays on show if people see it, else the current one takes its place.
      const gone = refusal?.code === 'not_found'
      if (gone && slot) forget(slot)
      retry.start(refusal?.retry_ms || RETRY_MS, () => (gone ? look() : adjust()))
    }
  }

  function forget(slot: string): void {
    if (!sales.readSlots.has(slot)) return slots.letGo()
    slots.end(slot)
    sales.endSlot(slot)
  }

  /** Brings what is watched in line with what is wanted. */
  function adjust(): void {
    // A new connection begins by watching.
    if (!live.isLive) return
    if (wanted.value.size === 0) return asked ? undefined : void look()
    for (const slot of watched) {
      if (wanted.value.has(slot)) continue
      watched.delete(slot)
      socket.request('unwatch', { slot }).catch(() => undefined)
    }
    for (const slot of wanted.value) if (!watched.has(slot)) void look(slot)
  }

  watch(
    () => [...wanted.value].join(),
    () => {
      if (slots.known) adjust()
    },
  )

  /** A new connection watches nothing yet. The first question goes out behind its hello. */
  function greeted(ask: Ask): void {
    retry.stop()
    watched.clear()
    if (wanted.value.size === 0) void look(undefined, ask)
    else for (const slot of wanted.value) void look(slot, ask)
  }

  return { greeted, welcomed: adjust }
}
