import { inject, watch, type InjectionKey, type Plugin, type Ref } from 'vue'
import { TOKEN_ENDED } from '../live/backoff'
import { startHeartbeat } from '../live/heartbeat'
import { dialPage, LiveSocket, type Listener, type Wire } from '../live/socket'
import type { Order, Requests, ServerEvent, Welcome } from '../protocol/types'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { usePulse } from '../stores/pulse'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { useSlots } from '../stores/slots'
import { openTill } from './buying'
import { openDoor } from './keeping'
import { openLedger } from './ordering'
import { LOST } from './explain'
import { openCounter, type PayCode } from './paying'
import { openTelling } from './telling'
import { openWindow } from './watching'

type Hello = Requests['hello']

/** What people can do in the shop; what they see is in the stores. */
export interface Shop {
  buy(sale: string, qty: number): void
  cancel(order: Order): Promise<void>
  cancelling: Ref<Set<string>>
  pay(order: Order): Promise<void>
  paying: Ref<Set<string>>
  payCode(order: Order): Promise<PayCode>
  refund(order: Order, reason: string): Promise<void>
  olderOrders(): Promise<void>
  signIn(token: string): boolean
  /** Becomes a new guest in place of one whose token has ended; false when that fails now. */
  startOver(): Promise<boolean>
  reconnect(): void
}

export const shopKey: InjectionKey<Shop> = Symbol('shop')

export function useShop(): Shop {
  const shop = inject(shopKey)
  if (!shop) throw new Error('no shop is open')
  return shop
}

const CLOCK_MS = 200
const PULSE_MS = 500
/** How long a hello waits for a guest's token that was just asked for; without one it costs a second connection. */
const TOKEN_WITHIN_MS = 300

/** Opens the shop for the page. Pinia must be installed before. */
export const shopPlugin: Plugin = {
  install(app) {
    app.provide(shopKey, openShop())
  },
}

/** One socket, and the stores that listen to it; `dial` makes its connections. */
export function openShop(dial: () => Wire = dialPage): Shop {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  const orders = useOrders()
  const session = useSession()
  const notices = useNotices()
  const preferences = usePreferences()
  const pulse = usePulse()
  let stopHeartbeat = (): void => undefined

  const hello = (): Hello => ({
    lang: preferences.lang,
    ...(session.token ? { token: session.token } : {}),
    ...(session.token && orders.cursor ? { cursor: orders.cursor } : {}),
  })

  const listener: Listener = {
    introduce() {
      if (session.token || !session.isAsking()) return hello()
      const patience = new Promise((resolve) => setTimeout(resolve, TOKEN_WITHIN_MS))
      return Promise.race([session.settled(), patience]).then(hello)
    },
    greeted: (ask) => shopWindow.greeted(ask),
    welcomed(welcome: Welcome, sentAt: number) {
      live.clock.answer(sentAt, welcome.now)
      live.refresh()
      live.ready = welcome.user !== undefined
      stopHeartbeat()
      stopHeartbeat = startHeartbeat(socket, live.clock)
      door.welcomed()
      shopWindow.welcomed()
      if (!live.ready) return
      void ledger.welcomed(welcome)
      till.resume()
    },
    turnedAway: () => door.turnedAway(),
    heard: (event) => hear(event),
    changed(state) {
      if (state.name !== 'live') stopHeartbeat()
      live.become(state)
      if (state.name === 'live') notices.withdraw(LOST)
      if (state.name === 'stopped' && state.code === TOKEN_ENDED) door.tokenEnded()
    },
  }

  function hear(event: ServerEvent): void {
    switch (event.ev) {
      case 'tick':
        return sales.tick(event.sales)
      case 'slot':
        return slots.change(event.slot)
      case 'sale':
        return sales.change(event.sale)
      case 'order':
        return ledger.hear(event)
      case 'notice':
        return notices.post(event.level, event.text)
      case 'bye':
        return
    }
  }

  const socket = new LiveSocket(listener, dial)
  const door = openDoor(socket)
  const shopWindow = openWindow(socket)
  const ledger = openLedger(socket)
  const till = openTill(socket)
  const counter = openCounter(socket)

  openTelling()
  watch(
    () => live.freshness,
    (freshness) => (document.documentElement.dataset.freshness = freshness),
    { immediate: true },
  )
  setInterval(() => live.refresh(socket.isSilent), CLOCK_MS)
  setInterval(pulse.sample, PULSE_MS)
  window.addEventListener('online', () => socket.reconnect())
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return
    live.clock.forget()
    if (live.isLive) stopHeartbeat = restartHeartbeat()
    else if (live.state.name === 'waiting') socket.reconnect()
  })

  function restartHeartbeat(): () => void {
    stopHeartbeat()
    return startHeartbeat(socket, live.clock)
  }

  door.enter()

  return {
    buy: till.buy,
    cancel: ledger.cancel,
    cancelling: ledger.cancelling,
    pay: counter.pay,
    paying: counter.paying,
    payCode: counter.payCode,
    refund: counter.refund,
    olderOrders: ledger.older,
    signIn: door.paste,
    startOver: door.startOver,
    reconnect: door.enter,
  }
}
