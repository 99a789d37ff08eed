import { inject, type InjectionKey, type Plugin, type Ref } from 'vue'
import { TOKEN_ENDED } from '../live/backoff'
import { startHeartbeat } from '../live/heartbeat'
import { dialPage, LiveSocket, type Listener, type Wire } from '../live/socket'
import type { Order, ServerEvent, Welcome } from '../protocol/types'
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
import { openCounter, type PayCode } from './paying'
import { openWindow } from './watching'

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

  const listener: Listener = {
    introduce: () => ({
      lang: preferences.lang,
      ...(session.session ? { token: session.session.access } : {}),
      ...(session.session && orders.cursor ? { cursor: orders.cursor } : {}),
    }),
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

  setInterval(live.refresh, CLOCK_MS)
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

  void door.enter()

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
    reconnect: () => void door.enter(),
  }
}
