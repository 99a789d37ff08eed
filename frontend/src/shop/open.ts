import { effectScope, inject, onScopeDispose, watch, type InjectionKey, type Plugin, type Ref } from 'vue'
import { callServer } from '../account/http'
import type { Session } from '../account/token'
import { SIGNED_OUT, TOKEN_ENDED } from '../live/backoff'
import { startHeartbeat } from '../live/heartbeat'
import { Refused } from '../live/ops'
import { dialPage, LiveSocket, type Listener, type Wire } from '../live/socket'
import type { Address, OpFields, Order, ServerEvent, Welcome } from '../protocol/types'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { useRates } from '../stores/rates'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { useSlots } from '../stores/slots'
import { useInterval, useListener, usePause } from '../timers'
import { openAddressing } from './addressing'
import { openAnnouncing } from './announcing'
import { openBuying } from './buying'
import { openDelivery } from './delivery'
import { openDisplayClock } from './displayclock'
import { LOST } from './explain'
import { openLazyPassing } from './lazypassing'
import { openLoginBuy } from './loginbuy'
import { openOrdering } from './ordering'
import { openOutcomes } from './outcomes'
import type { Passing } from './passing'
import { openPaying, type PayCode } from './paying'
import { openReceiving } from './receiving'
import { openSignIn } from './signin'
import { openWatching } from './watching'

/** The actions of a shopper. The stores hold the displayed data. */
export interface Shop extends Pick<Passing, 'getReady' | 'challenge'> {
  buy(sale: string, qty: number): void
  cancel(order: Order): Promise<void>
  cancelling: Readonly<Ref<ReadonlySet<string>>>
  pay(order: Order): Promise<void>
  paying: Readonly<Ref<ReadonlySet<string>>>
  payCode(order: Order): Promise<PayCode>
  refund(order: Order, reason: string): Promise<void>
  /** Sets the delivery address of an order; true if the server accepted it. */
  setAddress(order: Order, address: Address): Promise<boolean>
  /** Confirms the receipt of a shipped order. */
  receive(order: Order): Promise<void>
  receiving: Readonly<Ref<ReadonlySet<string>>>
  olderOrders(): Promise<void>
  /** Switches to the account of a login. */
  logIn(session: Session): void
  /** Switches back to a guest after the server has logged the account out. */
  logOut(): void
  /** Replaces a guest whose token has expired by a new guest; false if that fails now. */
  startOver(): Promise<boolean>
  reconnect(): void
  /** Closes the shop: all timers, listeners and connections end. */
  close(): void
}

export const shopKey: InjectionKey<Shop> = Symbol('shop')

export function useShop(): Shop {
  const shop = inject(shopKey)
  if (!shop) throw new Error('no shop is open')
  return shop
}

const SAMPLE_MS = 500
/** The displayed rate counts as measured if a frame arrived in this time, in milliseconds. */
const MEASURED_MS = 3_000
/**
 * Maximum time that a hello waits for a requested guest token, in milliseconds; without the token a second connection
 * is necessary.
 */
const TOKEN_TIMEOUT_MS = 300

/** The Vue plugin that opens the shop. */
export const shopPlugin: Plugin = {
  install(app) {
    const shop = openShop()
    app.provide(shopKey, shop)
    app.onUnmount(shop.close)
  },
}

/** Opens a shop; `dial` creates its connections. */
export function openShop(dial: () => Wire = dialPage): Shop {
  const scope = effectScope(true)
  const shop = scope.run(() => startShop(dial)) as Omit<Shop, 'close'>
  return { ...shop, close: () => scope.stop() }
}

/** Starts the socket and its stores in the current scope. */
function startShop(dial: () => Wire): Omit<Shop, 'close'> {
  const live = useLive()
  const slots = useSlots()
  const sales = useSales()
  const orders = useOrders()
  const session = useSession()
  const notices = useNotices()
  const preferences = usePreferences()
  const rates = useRates()
  const pause = usePause()
  let stopHeartbeat = (): void => undefined

  const hello = (): OpFields['hello'] => ({
    lang: preferences.lang,
    ...(session.token ? { token: session.token } : {}),
    ...(session.token && orders.cursor ? { cursor: orders.cursor } : {}),
  })

  const listener: Listener = {
    helloFields() {
      if (session.token || !session.isRequesting()) return hello()
      return Promise.race([session.settled(), pause(TOKEN_TIMEOUT_MS)]).then(hello)
    },
    helloSent: (send) => watching.helloSent(send),
    welcomed(welcome: Welcome, sentAt: number) {
      live.addTimeSample(sentAt, welcome.now)
      live.welcomed(welcome.user !== undefined)
      restartHeartbeat()
      signIn.welcomed()
      watching.welcomed()
      if (!live.ready) return
      void ordering.welcomed(welcome)
      buying.resume()
    },
    rejected: () => signIn.rejected(),
    connectFailed() {
      // The browser does not report why a handshake failed. An HTTP request shows whether the server blocks this
      // client.
      void callServer('GET', '/time').catch((error: unknown) => {
        if (error instanceof Refused && error.refusal.code === 'forbidden') socket.block()
      })
    },
    received: (event) => receive(event),
    receivedUnknown: () => undefined,
    changed(state) {
      if (state.name !== 'live') stopHeartbeat()
      live.setState(state)
      if (state.name === 'live') notices.withdraw(LOST)
      if (state.name === 'stopped' && state.code === TOKEN_ENDED) signIn.tokenEnded()
      if (state.name === 'stopped' && state.code === SIGNED_OUT) signIn.revoked()
    },
  }

  function receive(event: ServerEvent): void {
    switch (event.ev) {
      case 'tick':
        return sales.tick(event.sales)
      case 'slot':
        return slots.change(event.slot)
      case 'sale':
        return sales.change(event.sale)
      case 'order':
        return ordering.apply(event)
      case 'notice':
        return announcing.receive(event)
      case 'bye':
        return
    }
  }

  const socket = new LiveSocket(listener, dial)
  const signIn = openSignIn(socket)
  const announcing = openAnnouncing()
  const watching = openWatching(socket)
  const ordering = openOrdering(socket)
  const passing = openLazyPassing(socket)
  const buying = openBuying(socket, passing.obtain)
  const { loggedIn } = openLoginBuy(buying.buy)
  const paying = openPaying(socket)
  const receiving = openReceiving()
  const { setAddress } = openAddressing(socket)

  openOutcomes()
  openDelivery()
  watch(
    () => live.freshness,
    (freshness) => (document.documentElement.dataset.freshness = freshness),
    { immediate: true },
  )
  openDisplayClock(() => live.refresh(socket.isSilent))
  useInterval(SAMPLE_MS, () => {
    const measured = live.isLive && watching.isCurrent() && socket.quietMs < MEASURED_MS
    rates.sample(live.instant(), measured)
  })
  useListener(window, 'offline', () => socket.goOffline())
  useListener(window, 'online', () => {
    if (!live.isBlocked) socket.reconnect()
  })
  useListener(document, 'visibilitychange', () => {
    if (document.hidden) return
    live.dropTimeSamples()
    if (live.isLive) restartHeartbeat()
    else if (live.state.name === 'waiting' || (live.isOffline && navigator.onLine)) socket.reconnect()
  })
  onScopeDispose(() => socket.close())

  function restartHeartbeat(): void {
    stopHeartbeat()
    stopHeartbeat = startHeartbeat(socket, live.addTimeSample)
  }

  signIn.enter()

  return {
    buy: buying.buy,
    getReady: passing.getReady,
    challenge: passing.challenge,
    cancel: ordering.cancel,
    cancelling: ordering.cancelling,
    pay: paying.pay,
    paying: paying.paying,
    payCode: paying.payCode,
    refund: paying.refund,
    setAddress,
    receive: receiving.receive,
    receiving: receiving.receiving,
    olderOrders: ordering.loadOlder,
    logIn(session) {
      loggedIn()
      signIn.logIn(session)
    },
    logOut: signIn.logOut,
    startOver: signIn.startOver,
    reconnect: signIn.enter,
  }
}
