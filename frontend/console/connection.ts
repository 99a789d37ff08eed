import { computed, inject, onScopeDispose, ref, watch, type InjectionKey } from 'vue'
import { backoff, BLOCKED, SIGNED_OUT, TOKEN_ENDED } from '../src/live/backoff'
import { startHeartbeat } from '../src/live/heartbeat'
import { Refused } from '../src/live/ops'
import { dialPage, LiveSocket, type Listener, type Wire } from '../src/live/socket'
import type { OpFields } from '../src/protocol/types'
import { onStoreChange } from '../src/storage'
import { useLive } from '../src/stores/live'
import { usePreferences } from '../src/stores/preferences'
import { useSession } from '../src/stores/session'
import { useInterval, useListener, useTimer } from '../src/timers'
import { useAccess } from './access'
import { useBoard } from './board/store'

const CLOCK_MS = 200
const RETRY_BOARD_MS = 2_000

/** The connection of the console. */
export interface Connection {
  /** Subscribes to the live board. The feed runs while it has subscribers. Returns the unsubscribe function. */
  watch(): () => void
}

export const connectionKey: InjectionKey<Connection> = Symbol('connection')

/** Subscribes to the live board for the lifetime of the component. */
export function useFeed(): void {
  const stop = inject(connectionKey)?.watch()
  if (stop) onScopeDispose(stop)
}

/**
 * Opens the console's only socket, which uses the shopper protocol and carries the live board. It closes with its
 * scope.
 */
export function openConnection(dial: () => Wire = dialPage): Connection {
  const live = useLive()
  const session = useSession()
  const access = useAccess()
  const preferences = usePreferences()
  const board = useBoard()
  const watchers = ref(0)
  const watching = computed(() => watchers.value > 0)
  const renewal = useTimer()
  const retry = useTimer()
  let failures = 0
  let stopHeartbeat = (): void => undefined

  const listener: Listener = {
    helloFields: (): OpFields['hello'] => ({
      lang: preferences.lang,
      ...(session.token ? { token: session.token } : {}),
    }),
    helloSent: () => undefined,
    connectFailed: () => undefined,
    welcomed(welcome, sentAt) {
      live.addTimeSample(sentAt, welcome.now)
      live.welcomed(welcome.user !== undefined)
      stopHeartbeat()
      stopHeartbeat = startHeartbeat(socket, live.addTimeSample)
      if (!live.ready) return void newToken()
      failures = 0
      planRenewal()
      void requestBoard()
    },
    rejected() {
      session.markRejected()
      void newToken()
    },
    received(event) {
      if (event.ev === 'notice') board.setNotice(event.level, event.text)
    },
    receivedUnknown: (event) => board.apply(event),
    changed(state) {
      if (state.name !== 'live') stopHeartbeat()
      live.setState(state)
      if (state.name !== 'stopped') return
      if (state.code === BLOCKED) void access.loadUser()
      if (state.code === TOKEN_ENDED) void newToken()
      if (state.code === SIGNED_OUT) {
        session.markRejected()
        void newToken()
      }
    },
  }
  const socket = new LiveSocket(listener, dial)

  /** Renews the token and reconnects. If no token is available, logs the operator out. */
  async function newToken(): Promise<void> {
    if (await session.renew()) return socket.reconnect()
    if (session.ended) return access.loadUser()
    retry.start(backoff(failures++), newToken)
  }

  function planRenewal(): void {
    const ms = session.renewIn()
    if (ms !== undefined) renewal.start(Math.max(1_000, ms), renew)
  }

  async function renew(): Promise<void> {
    if (!(await session.renew())) {
      if (session.ended) return access.loadUser()
      return renewal.start(20_000, renew)
    }
    const { token } = session
    if (token && live.ready) {
      await socket.request('renew', { token }).catch((error: unknown) => {
        if (error instanceof Refused) socket.reconnect()
      })
    }
    planRenewal()
  }

  /** Subscribes to the feed or unsubscribes. */
  async function requestBoard(): Promise<void> {
    retry.stop()
    if (!live.ready) return
    const on = watching.value
    try {
      const reply = await socket.request('board', { on })
      if (on) board.start(reply)
    } catch (error) {
      if (!on) return
      board.refuse(error instanceof Refused ? error.refusal.code : undefined)
      retry.start(RETRY_BOARD_MS, requestBoard)
    }
  }

  watch(watching, () => void requestBoard())
  useInterval(CLOCK_MS, () => live.refresh(socket.isSilent))
  useListener(window, 'online', () => socket.reconnect())
  useListener(document, 'visibilitychange', () => {
    if (document.hidden) return
    live.dropTimeSamples()
    if (live.state.name === 'waiting') socket.reconnect()
  })
  onStoreChange('session', () => void access.syncFromOtherTab())
  onScopeDispose(() => {
    stopHeartbeat()
    socket.close()
  })
  socket.reconnect()
  return {
    watch() {
      watchers.value++
      return () => watchers.value--
    },
  }
}
