import { computed, ref, shallowRef } from 'vue'
import { BLOCKED } from '../live/backoff'
import { ServerClock } from '../live/clock'
import type { LiveState } from '../live/socket'
import { defineStore } from './define'
import { asReadonly } from './readonly'

/**
 * Freshness of the displayed numbers. `live`: current. `connecting`: a frame is overdue or a connection is being made,
 * so they may be stale; a planned drain counts as this. `lost`: not connected, and no attempt is running.
 */
export type Freshness = 'live' | 'connecting' | 'lost'

/** The connection state, and the server's time for everything on the page. */
export const useLive = defineStore('live', () => {
  const clock = new ServerClock()
  const state = shallowRef<LiveState>({ name: 'connecting' })
  /** The server's time for display, Unix milliseconds, refreshed a few times a second. */
  const now = ref(clock.now())
  /** The time of the next attempt by the server's clock; 0 if none is planned. */
  const retryAt = ref(0)
  const isLive = computed(() => state.value.name === 'live')
  /** The server blocks this client. It reconnects only on request. */
  const isBlocked = computed(() => state.value.name === 'stopped' && state.value.code === BLOCKED)
  /** The browser has no network. */
  const isOffline = computed(() => state.value.name === 'offline')
  /** The server has closed the connection for a planned drain, and the first attempt afterwards has not ended. */
  const isDrained = ref(false)
  /** The server has accepted our user on this connection: personal ops work. */
  const ready = ref(false)
  /** A frame is overdue. */
  const silent = ref(false)
  const wasLive = ref(false)
  const freshness = computed<Freshness>(() => {
    if (isDrained.value) return 'connecting'
    if (['waiting', 'offline', 'stopped'].includes(state.value.name)) return 'lost'
    if (silent.value) return 'connecting'
    // While the page replaces a connection, for example with a newer token, the numbers stay live.
    return isLive.value || wasLive.value ? 'live' : 'connecting'
  })
  /** An op such as a buy can be sent, and a reply can be expected. */
  const canRequest = computed(() => ready.value && !silent.value)

  function setState(next: LiveState): void {
    wasLive.value = next.name === 'connecting' && freshness.value === 'live'
    state.value = next
    if (next.name !== 'connecting') isDrained.value = next.name === 'waiting' && next.drained
    if (next.name === 'live') silent.value = false
    else ready.value = false
    retryAt.value = next.name === 'waiting' ? clock.now() + next.delayMs : 0
  }

  /** Applies the reply of a hello; `known` reports whether the server accepted our user. */
  function welcomed(hasUser: boolean): void {
    ready.value = hasUser
    refresh()
  }

  /** Updates the time, and whether a frame is overdue. */
  function refresh(overdue = false): void {
    now.value = clock.now()
    silent.value = overdue
  }

  return {
    state: asReadonly(state),
    now: asReadonly(now),
    retryAt: asReadonly(retryAt),
    isLive,
    isBlocked,
    isOffline,
    isDrained,
    ready: asReadonly(ready),
    freshness,
    canRequest,
    setState,
    welcomed,
    refresh,
    /** The server's time at this moment, for computations instead of display. */
    instant: () => clock.now(),
    /** Adds a clock sample: the server's time in the reply to a request sent at `sentAt` of `performance.now()`. */
    addTimeSample: (sentAt: number, serverNow: number) => clock.addSample(sentAt, serverNow),
    /** Drops the clock samples, because the monotonic clock may have stopped. */
    dropTimeSamples: () => clock.dropSamples(),
  }
})
