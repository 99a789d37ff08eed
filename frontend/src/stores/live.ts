import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { BLOCKED } from '../live/backoff'
import { ServerClock } from '../live/clock'
import type { LiveState } from '../live/socket'
import { asReadonly } from './readonly'

/**
 * What can be said of the numbers on the page: `live`, they are of this moment; `connecting`, an expected word is
 * overdue or a connection is being made, and they may be old; `lost`, there is no connection and none is being made
 * right now.
 */
export type Freshness = 'live' | 'connecting' | 'lost'

/** Whether we are connected, and the server's time as everything on the page sees it. */
export const useLive = defineStore('live', () => {
  const clock = new ServerClock()
  const state = shallowRef<LiveState>({ name: 'connecting' })
  /** The server's time as it is drawn, Unix milliseconds, refreshed a few times a second. */
  const now = ref(clock.now())
  /** When the next attempt comes, by the same time; 0 when none is planned. */
  const retryAt = ref(0)
  const isLive = computed(() => state.value.name === 'live')
  /** The shop keeps us out. Nothing connects again until somebody asks for it. */
  const isBlocked = computed(() => state.value.name === 'stopped' && state.value.code === BLOCKED)
  /** The server knows who we are on this connection: personal ops work. */
  const ready = ref(false)
  /** An expected word is overdue. */
  const silent = ref(false)
  const wasLive = ref(false)
  const freshness = computed<Freshness>(() => {
    if (state.value.name === 'waiting' || state.value.name === 'stopped') return 'lost'
    if (silent.value) return 'connecting'
    // A connection that we leave for a better one, with a newer token, was heard a moment ago.
    return isLive.value || wasLive.value ? 'live' : 'connecting'
  })
  /** A buy can be asked for now, and an answer be expected. */
  const canAsk = computed(() => ready.value && !silent.value)

  function become(next: LiveState): void {
    wasLive.value = next.name === 'connecting' && freshness.value === 'live'
    state.value = next
    if (next.name === 'live') silent.value = false
    else ready.value = false
    retryAt.value = next.name === 'waiting' ? clock.now() + next.delayMs : 0
  }

  /** Takes a hello's answer: whether the server knows us by it. */
  function welcomed(known: boolean): void {
    ready.value = known
    refresh()
  }

  /** Takes the time, and whether an expected word is overdue. */
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
    ready: asReadonly(ready),
    freshness,
    canAsk,
    become,
    welcomed,
    refresh,
    /** The server's time at this very moment, for what is reckoned and not drawn. */
    instant: () => clock.now(),
    /** Takes the server's time, as it was answered to a question that was sent at `sentAt` of `performance.now()`. */
    hearTime: (sentAt: number, serverNow: number) => clock.answer(sentAt, serverNow),
    /** The monotonic clock may have stood still: what was learnt is doubtful. */
    doubtTime: () => clock.forget(),
  }
})
