import { onScopeDispose, watch } from 'vue'
import { carry, newKey, type Backend, type Outcome, type Press } from '../checkout/press'
import { webLocks } from '../exclusive'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { usePasses } from '../stores/passes'
import { usePreferences } from '../stores/preferences'
import { usePresses } from '../stores/presses'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { onKept } from '../storage'
import { usePause } from '../timers'
import { useWords } from '../words'

/** Buy attempts, from the click to the outcome. */
export function openBuying(socket: LiveSocket, earnPass: (sale: string) => Promise<boolean>) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  const presses = usePresses()
  const passes = usePasses()
  const preferences = usePreferences()
  const sales = useSales()
  const notices = useNotices()
  const words = useWords()
  /** Keys of the attempts that this tab performs, or waits to resume. */
  const carried = new Set<string>()

  /** Attempts that continue when a connection has a user. */
  const waiting: (() => void)[] = []
  const closed = new Promise<void>((resolve) => onScopeDispose(resolve))

  watch(
    () => live.ready,
    (ready) => {
      if (ready) waiting.splice(0).forEach((goOn) => goOn())
    },
  )

  const backend: Backend = {
    async buy(fields) {
      const receipt = await socket.request('buy', fields)
      passes.drop(fields.sale)
      return receipt
    },
    passFor: (sale) => passes.at(sale),
    earnPass,
    user: () => session.user?.id,
    orderOf: (key) => orders.ofKey(key),
    pause: usePause(),
    untilLive: () => new Promise((resolve) => (live.ready ? resolve() : waiting.push(resolve))),
  }

  /** Starts a buy attempt. It does nothing while an earlier attempt in the sale is pending. */
  function buy(sale: string, qty: number): void {
    const user = session.user?.id
    if (!user || presses.onSale(sale)) return
    const address = preferences.address
    const press = {
      key: newKey(),
      user,
      sale,
      qty,
      product: sales.byId.get(sale)?.product.name ?? '',
      pressedAt: live.instant(),
      ...(address ? { address: { ...address } } : {}),
    }
    presses.begin(press)
    const followed = follow(press)
    // The lock makes other tabs wait for this attempt; the attempt does not wait for the lock.
    void lock(press, () => followed)
  }

  /** Holds the lock of the attempt across all tabs while `run` runs and the shop is open. */
  function lock(press: Press, run: () => Promise<void>): Promise<unknown> | undefined {
    return webLocks()?.request(`stampede.press.${press.key}`, () => Promise.race([run(), closed]))
  }

  /**
   * Resumes the open attempts of an earlier page. An attempt of another tab is resumed only after that tab has closed.
   */
  function resume(): void {
    const user = session.user?.id
    if (!user || !live.ready) return
    for (const press of presses.inherit(user, live.instant())) {
      if (carried.has(press.key)) continue
      carried.add(press.key)
      const held = lock(press, () => follow(press, true)) ?? follow(press, true)
      void held.finally(() => carried.delete(press.key))
    }
  }

  /** Repeats an attempt until its outcome is known; `doubted` means that the shopper has already waited long for it. */
  async function follow(press: Press, doubted = false): Promise<void> {
    if (!presses.isOpen(press.key)) return
    carried.add(press.key)
    let asked = doubted
    const outcome = await carry(press, backend, () => {
      asked = true
      presses.repeat(press.key)
    })
    carried.delete(press.key)
    // Another tab may have finished it first, and its message may already be dismissed.
    if (presses.isOpen(press.key))
      settle(press, outcome, asked || !sales.shown?.some(({ id }) => id === press.sale))
  }

  function settle(press: Press, outcome: Outcome, doubted: boolean): void {
    switch (outcome.kind) {
      case 'refused':
        presses.end(press, { kind: 'refused', code: outcome.refusal.code })
        return notices.say(words.value.errors[outcome.refusal.code])
      case 'givenup':
        return presses.end(press)
      case 'foreign':
        return presses.end(press, { kind: 'foreign' })
      case 'reserved':
        if (outcome.receipt.state === 'refused') return presses.end(press, { kind: 'undone', reason: '' })
        orders.reserve(press, outcome.receipt, live.instant())
        if (orders.byId.get(outcome.receipt.order)?.state === 'reserved') {
          notices.say(words.value.orders.happened.reserved(press.product))
        }
        break
      case 'settled':
        if (outcome.order.state !== 'refused') break
        return presses.end(press, { kind: 'undone', reason: outcome.order.reason ?? '' })
    }
    presses.end(press, doubted ? { kind: 'ordered' } : undefined)
  }

  onKept('press.', resume)

  return { buy, resume }
}
