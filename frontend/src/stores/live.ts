import { defineStore } from 'pinia'
import { computed, markRaw, ref, shallowRef } from 'vue'
import { ServerClock } from '../live/clock'
import type { LiveState } from '../live/socket'

/** Whether we are connected, and the server's time as everything on the page sees it. */
export const useLive = defineStore('live', () => {
  const clock = markRaw(new ServerClock())
  const state = shallowRef<LiveState>({ name: 'connecting' })
  /** The server's time, Unix milliseconds, refreshed a few times a second. */
  const now = ref(clock.now())
  /** When the next attempt comes, by the same time; 0 when none is planned. */
  const retryAt = ref(0)
  const isLive = computed(() => state.value.name === 'live')
  /** The server knows who we are on this connection: personal ops work. */
  const ready = ref(false)

  function become(next: LiveState): void {
    state.value = next
    if (next.name !== 'live') ready.value = false
    retryAt.value = next.name === 'waiting' ? clock.now() + next.delayMs : 0
  }

  function refresh(): void {
    now.value = clock.now()
  }

  return { clock, state, now, retryAt, isLive, ready, become, refresh }
})
