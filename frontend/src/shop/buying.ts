import { onScopeDispose, watch } from 'vue'
import { performAttempt, newKey, type Backend, type Outcome, type Attempt } from '../checkout/attempt'
import { useNames } from '../composables/useNames'
import { webLocks } from '../exclusive'
import type { LiveSocket } from '../live/socket'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useOrders } from '../stores/orders'
import { usePasses } from '../stores/passes'
import { usePreferences } from '../stores/preferences'
import { useAttempts } from '../stores/attempts'
import { useDetails } from '../stores/details'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { onStoreChange } from '../storage'
import { usePause } from '../timers'
import { useWords } from '../words'

/** Buy attempts, from the click to the outcome. */
export function openBuying(socket: LiveSocket, obtainPass: (sale: string) => Promise<boolean>) {
  const live = useLive()
  const session = useSession()
  const orders = useOrders()
  const attempts = useAttempts()
  const passes = usePasses()
  const preferences = usePreferences()
  const sales = useSales()
  const details = useDetails()
  const notices = useNotices()
  const names = useNames()
  const words = useWords()
  /** Keys of the attempts that this tab performs, or waits to resume. */
  const active = new Set<string>()

  /** Attempts that continue when a connection has a user. */
  const waiting: (() => void)[] = []
  const closed = new Promise<void>((resolve) => onScopeDispose(resolve))

  watch(
    () => live.ready,
    (ready) => {
      if (ready) waiting.splice(0).forEach((proceed) => proceed())
    },
  )

  const backend: Backend = {
    async buy(fields) {
      const receipt = await socket.request('buy', fields)
      passes.drop(fields.sale)
      return receipt
    },
    passFor: (sale) => passes.passFor(sale),
    obtainPass,
    user: () => session.user?.id,
    orderOf: (key) => orders.ofKey(key),
    pause: usePause(),
    untilLive: () => new Promise((resolve) => (live.ready ? resolve() : waiting.push(resolve))),
  }

  /** Starts a buy attempt. It does nothing while an earlier attempt in the sale is pending. */
  function buy(sale: string, qty: number): void {
    const user = session.user?.id
    if (!user || attempts.onSale(sale)) return
    const address = preferences.address
    const attempt = {
      key: newKey(),
      user,
      sale,
      qty,
      product: sales.byId.get(sale)?.product.name ?? '',
      pressedAt: live.instant(),
      ...(address ? { address: { ...address } } : {}),
    }
    attempts.begin(attempt)
    const completion = perform(attempt)
    // The lock makes other tabs wait for this attempt; the attempt does not wait for the lock.
    void lock(attempt, () => completion)
  }

  /** Holds the lock of the attempt across all tabs while `run` runs and the shop is open. */
  function lock(attempt: Attempt, run: () => Promise<void>): Promise<unknown> | undefined {
    return webLocks()?.request(`stampede.press.${attempt.key}`, () => Promise.race([run(), closed]))
  }

  /**
   * Resumes the open attempts of an earlier page. An attempt of another tab is resumed only after that tab has closed.
   */
  function resume(): void {
    const user = session.user?.id
    if (!user || !live.ready) return
    for (const attempt of attempts.inherit(user, live.instant())) {
      if (active.has(attempt.key)) continue
      active.add(attempt.key)
      const held = lock(attempt, () => perform(attempt, true)) ?? perform(attempt, true)
      void held.finally(() => active.delete(attempt.key))
    }
  }

  /**
   * Performs an attempt until its outcome is known; `delayed` means that the shopper has already waited long for it.
   */
  async function perform(attempt: Attempt, delayed = false): Promise<void> {
    if (!attempts.isOpen(attempt.key)) return
    active.add(attempt.key)
    let reported = delayed
    const outcome = await performAttempt(attempt, backend, () => {
      reported = true
      attempts.repeat(attempt.key)
    })
    active.delete(attempt.key)
    // Another tab may have finished the attempt first, and the shopper may have dismissed its message.
    if (attempts.isOpen(attempt.key)) settle(attempt, outcome, reported || !details.isShown(attempt.sale))
  }

  function settle(attempt: Attempt, outcome: Outcome, delayed: boolean): void {
    switch (outcome.kind) {
      case 'refused':
        attempts.end(attempt, { kind: 'refused', code: outcome.refusal.code })
        return notices.announce(words.value.errors[outcome.refusal.code])
      case 'given_up':
        return attempts.end(attempt)
      case 'other_user':
        return attempts.end(attempt, { kind: 'foreign' })
      case 'reserved':
        if (outcome.receipt.state === 'refused') return attempts.end(attempt, { kind: 'undone', reason: '' })
        orders.reserve(attempt, outcome.receipt, live.instant())
        if (orders.byId.get(outcome.receipt.order)?.state === 'reserved') {
          notices.announce(words.value.orders.messages.reserved(names.ofSale(attempt.sale, attempt.product)))
        }
        break
      case 'settled':
        if (outcome.order.state !== 'refused') break
        return attempts.end(attempt, { kind: 'undone', reason: outcome.order.reason ?? '' })
    }
    attempts.end(attempt, delayed ? { kind: 'ordered' } : undefined)
  }

  onStoreChange('press.', resume)

  return { buy, resume }
}
