import { computed, watch } from 'vue'
import { Refused } from '../live/ops'
import type { SendOp, LiveSocket } from '../live/socket'
import { useDetails } from '../stores/details'
import { useLive } from '../stores/live'
import { useSales } from '../stores/sales'
import { phaseAt, useSlots } from '../stores/slots'
import { useTimer } from '../timers'

const RETRY_MS = 1_000
/** The next slot is watched this long before it opens, in milliseconds, so that its sales are loaded at the opening. */
const LEAD_MS = 10_000

/**
 * Watches the displayed slot, the slot of the displayed sale and, shortly before it opens, the next slot. An ended slot
 * is read once and unwatched; then the current slot is watched instead.
 */
export function openWatching(socket: LiveSocket) {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  const details = useDetails()
  /** A random lead per page spreads the requests. */
  const lead = LEAD_MS * (1 + Math.random())
  /** Slots that this connection watches. */
  const watched = new Set<string>()
  /** Watched slots whose sales have arrived on this connection. */
  const current = new Set<string>()
  /** The current slot was requested without an id, and the reply has not arrived. */
  let requested = false
  const request: SendOp = (op, fields) => socket.request(op, fields)
  const retry = useTimer()

  const upcoming = computed(() =>
    slots.slots.find(({ opens_at }) => opens_at > live.now && opens_at - live.now < lead),
  )
  const visibleSlot = computed(() => {
    const slot = slots.shown
    const ended = slot && phaseAt(slot, live.now) === 'closed' && sales.readSlots.has(slot.id)
    return ended ? slots.next : slot
  })
  /** The slot of the sale page. A whole slot is cheaper for the server than a single sale. */
  const slotOfSale = computed(() => {
    const { sale } = details
    const ended = sale && phaseAt(sale, live.now) === 'closed' && sales.readSlots.has(sale.slot)
    return ended ? undefined : sale?.slot
  })
  const wanted = computed(
    () =>
      new Set(
        [visibleSlot.value?.id, upcoming.value?.id, slotOfSale.value].filter((slot) => slot !== undefined),
      ),
  )

  /** Watches a slot, or the current slot if none is known. */
  async function watchSlot(slot?: string, send = request): Promise<void> {
    if (slot) watched.add(slot)
    else requested = true
    try {
      const view = await send('watch', slot ? { slot } : {})
      const id = slot ?? view.sales[0]?.slot
      if (id) {
        watched.add(id)
        current.add(id)
        sales.replaceSlot(id, view.sales)
      }
      slots.replace(view.slots)
      if (!slot) requested = false
    } catch (error) {
      if (slot) watched.delete(slot)
      else requested = false
      const refusal = error instanceof Refused ? error.refusal : undefined
      // The slot was deleted. It stays visible if its sales were loaded; otherwise the current slot replaces it.
      const deleted = refusal?.code === 'not_found'
      if (deleted && slot) drop(slot)
      retry.start(refusal?.retry_ms || RETRY_MS, () => (deleted ? watchSlot() : adjust()))
    }
  }

  function drop(slot: string): void {
    if (!sales.readSlots.has(slot)) return slots.reset()
    slots.end(slot)
    sales.endSlot(slot)
  }

  /** Watches and unwatches slots until they match the wanted set. */
  function adjust(): void {
    // On a new connection, helloSent() sends the first watch.
    if (!live.isLive) return
    if (wanted.value.size === 0) return requested ? undefined : void watchSlot()
    for (const slot of watched) {
      if (wanted.value.has(slot)) continue
      watched.delete(slot)
      current.delete(slot)
      socket.request('unwatch', { slot }).catch(() => undefined)
    }
    for (const slot of wanted.value) if (!watched.has(slot)) void watchSlot(slot)
  }

  watch(
    () => [...wanted.value].join(),
    () => {
      if (slots.known) adjust()
    },
  )

  /** A new connection watches nothing yet. The first watch is sent directly after its hello. */
  function helloSent(send: SendOp): void {
    retry.stop()
    watched.clear()
    current.clear()
    if (wanted.value.size === 0) void watchSlot(undefined, send)
    else for (const slot of wanted.value) void watchSlot(slot, send)
  }

  /** Reports whether the numbers of the displayed slot arrive on this connection. */
  function isCurrent(): boolean {
    return slots.shown !== undefined && current.has(slots.shown.id)
  }

  return { helloSent, welcomed: adjust, isCurrent }
}
