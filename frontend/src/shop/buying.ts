import { watch } from 'vue'
import { carry, newKey, type Counter, type Outcome, type Press } from '../buying/press'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { usePreferences } from '../stores/preferences'
import { usePresses } from '../stores/presses'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { useWords } from '../words'

/** Presses of Buy: from the button to their outcome. */
export function openTill(socket: LiveSocket) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  const presses = usePresses()
  const preferences = usePreferences()
  const sales = useSales()
  const notices = useNotices()
  const words = useWords()
  const carried = new Set<string>()

  const counter: Counter = {
    buy: (fields) => socket.request('buy', fields),
    orderOf: (key) => orders.ofKey(key),
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    untilLive: () =>
      new Promise((resolve) => {
        if (live.ready) return resolve()
        const stop = watch(
          () => live.ready,
          (ready) => {
            if (!ready) return
            stop()
            resolve()
          },
        )
      }),
  }

  /** Presses Buy. Nothing happens while an earlier press on the sale is still under way. */
  function buy(sale: string, qty: number): void {
    const user = session.user?.id
    if (!user || presses.onSale(sale)) return
    const address = preferences.address
    const press = {
      key: newKey(),
      user,
      sale,
      qty,
      pressedAt: live.clock.now(),
      ...(address ? { address: { ...address } } : {}),
    }
    presses.begin(press)
    void follow(press)
  }

  /** Goes on with what an earlier page left open. */
  function resume(): void {
    const user = session.user?.id
    if (user) presses.inherit(user, live.clock.now()).forEach((press) => void follow(press))
  }

  async function follow(press: Press): Promise<void> {
    if (carried.has(press.key)) return
    carried.add(press.key)
    try {
      settle(press, await carry(press, counter, () => presses.repeated.add(press.key)))
    } catch (error) {
      console.error('a press of Buy failed:', error)
      presses.end(press, { code: 'internal', message: '', retry_ms: 0, orders: [] })
    } finally {
      carried.delete(press.key)
    }
  }

  function settle(press: Press, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'refused':
        presses.end(press, outcome.refusal)
        return notices.say(words.value.errors[outcome.refusal.code])
      case 'reserved':
        orders.reserve(press, outcome.receipt, live.clock.now())
        if (orders.byId.get(outcome.receipt.order)?.state === 'reserved') {
          notices.say(words.value.orders.happened.reserved(sales.byId.get(press.sale)?.product.name ?? ''))
        }
        return presses.end(press)
      case 'settled':
        return presses.end(press)
    }
  }

  return { buy, resume }
}
