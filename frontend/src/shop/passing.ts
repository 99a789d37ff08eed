import { onScopeDispose, watch } from 'vue'
import { solveWork } from '../checkout/work'
import { Lost, Refused } from '../live/ops'
import type { LiveSocket } from '../live/socket'
import type { Challenge } from '../protocol/types'
import { useLive } from '../stores/live'
import { useOrders } from '../stores/orders'
import { usePasses } from '../stores/passes'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import { phaseAt } from '../stores/slots'
import { useInterval, usePause } from '../timers'

/** Passes are available 60 s before the opening. Each page requests its pass at a random time 55 to 15 s before it. */
const LEAD_MS = 55_000
const SPREAD_MS = 40_000
/** A pass is replaced when less than this time is left, in milliseconds. */
const RENEW_MS = 20_000
const CHECK_MS = 1_000
/** The pause after a rejection without `retry_ms`, in milliseconds. */
const RETRY_MS = 5_000
/** Work up to this duration, in milliseconds, is done without a sheet. */
const SHEET_DELAY_MS = 250

/** The shopper's action on a captcha: a solution, a request for another one, or giving up. */
type Action = { answer: string } | 'other' | 'give_up'

type Captcha = Extract<Challenge, { kind: 'captcha' }>

/** A running request for a pass. It resolves to a captcha if a person must solve one first. */
interface Job {
  done: Promise<Captcha | undefined>
  control: AbortController
}

export interface Passing {
  /** Gets a pass for a buy with the shopper's help; false if the shopper gave up. */
  obtain(sale: string): Promise<boolean>
  /** Gets the pass of a sale with a captcha before the opening. */
  getReady(sale: string): Promise<void>
  /** The actions on the displayed challenge. */
  challenge: { answer(text: string): void; other(): void; giveUp(): void }
}

/**
 * Obtains passes. For a visible sale without a captcha, it gets one near the opening and keeps it fresh, so that a buy
 * is one click. Captchas wait for the buy, or for the shopper's request.
 */
export function openPassing(socket: LiveSocket): Passing {
  const live = useLive()
  const session = useSession()
  const sales = useSales()
  const orders = useOrders()
  const passes = usePasses()
  const pause = usePause()
  const jobs = new Map<string, Job>()
  const retryAt = new Map<string, number>()
  const lead = LEAD_MS - Math.random() * SPREAD_MS
  let queue: Promise<unknown> = Promise.resolve()
  let onAction: ((action: Action) => void) | undefined
  /** The shopper gave up, maybe while a request was running. */
  let gaveUp = false

  /** Gets a pass without a person; a second call for the same sale joins the first. */
  function start(sale: string): Job {
    const known = jobs.get(sale)
    if (known) return known
    const control = new AbortController()
    const done = solveAutomatically(sale, control.signal).finally(() => {
      jobs.delete(sale)
      passes.work(sale, undefined)
    })
    const job = { done, control }
    jobs.set(sale, job)
    return job
  }

  async function solveAutomatically(sale: string, signal: AbortSignal): Promise<Captcha | undefined> {
    const reply = await socket.request('pass', { sale })
    if ('pass' in reply) {
      passes.store(sale, reply)
      return undefined
    }
    const { challenge } = reply
    if (challenge.kind === 'captcha') return challenge
    passes.work(sale, 0)
    const answer = await solveWork({ text: challenge.text, bits: challenge.bits }, signal, (share) =>
      passes.work(sale, share),
    )
    passes.store(sale, await socket.request('solve', { sale, task: challenge.id, answer }))
    return undefined
  }

  /** Gets a pass with the shopper's help, one sale at a time; false if the shopper gave up. Rejects as ops do. */
  function obtain(sale: string, forBuy = true): Promise<boolean> {
    const result = queue.then(() => solveWithShopper(sale, forBuy))
    queue = result.catch(() => undefined)
    return result
  }

  async function solveWithShopper(sale: string, forBuy: boolean): Promise<boolean> {
    passes.drop(sale)
    gaveUp = false
    try {
      const captcha = await watchWork(sale, forBuy)
      if (captcha === 'give_up') return false
      return captcha ? await solveCaptchas(sale, forBuy, captcha) : true
    } catch (error) {
      if (error instanceof Refused || error instanceof Lost) throw error
      console.error('could not obtain a pass:', error)
      throw new Refused({ code: 'pass_required', message: '', retry_ms: 0, orders: [] })
    } finally {
      passes.show(undefined)
    }
  }

  /**
   * Waits for a pass without a person, and shows a sheet if it takes long. Resolves to the captcha if one is needed.
   */
  async function watchWork(sale: string, forBuy: boolean): Promise<Captcha | 'give_up' | undefined> {
    const job = start(sale)
    const left = waitForAction()
    void pause(SHEET_DELAY_MS).then(() => {
      if (jobs.get(sale) === job) passes.show({ sale, forBuy, kind: 'work' })
    })
    const result = await Promise.race([job.done, left.then(() => 'give_up' as const)])
    if (result === 'give_up') {
      job.control.abort()
      await job.done.catch(() => undefined)
    }
    return result
  }

  /** Shows captchas until one is solved; false if the shopper gave up. */
  async function solveCaptchas(sale: string, forBuy: boolean, first: Captcha): Promise<boolean> {
    let captcha = first
    let wrong = false
    for (;;) {
      passes.show({ sale, forBuy, kind: 'captcha', image: captcha.image, wrong })
      const action = await waitForAction()
      if (action === 'give_up') return false
      wrong = action !== 'other' && !(await solved(sale, captcha.id, action.answer))
      if (gaveUp) return false
      if (action !== 'other' && !wrong) return true
      const next = await nextCaptcha(sale, forBuy, wrong)
      if (next === 'give_up') return false
      if (!next) return true
      captcha = next
    }
  }

  /**
   * Requests the next captcha; undefined if none is needed any longer. After too many wrong solutions it waits for the
   * server's pause.
   */
  async function nextCaptcha(
    sale: string,
    forBuy: boolean,
    wrong: boolean,
  ): Promise<Captcha | 'give_up' | undefined> {
    for (;;) {
      passes.show({ sale, forBuy, kind: 'captcha', wrong })
      try {
        return await watchWork(sale, forBuy)
      } catch (error) {
        const ms = error instanceof Refused && error.refusal.code === 'rate_limited' && error.refusal.retry_ms
        if (!ms) throw error
        passes.show({ sale, forBuy, kind: 'captcha', wrong, waitsUntil: live.instant() + ms })
        if ((await Promise.race([pause(ms), waitForAction()])) === 'give_up') return 'give_up'
      }
    }
  }

  async function solved(sale: string, task: string, answer: string): Promise<boolean> {
    try {
      passes.store(sale, await socket.request('solve', { sale, task, answer }))
      return true
    } catch (error) {
      if (error instanceof Refused && ['captcha_required', 'rate_limited'].includes(error.refusal.code))
        return false
      throw error
    }
  }

  function waitForAction(): Promise<Action> {
    return gaveUp ? Promise.resolve('give_up') : new Promise((resolve) => (onAction = resolve))
  }

  /** Reports whether a pass without a captcha will soon be needed for the sale. */
  function isWanted(id: string): boolean {
    const sale = sales.byId.get(id)
    if (!sale?.pass || sale.challenge === 'captcha' || sale.paused || jobs.has(id)) return false
    if (passes.remainingMs(id, live.now) > RENEW_MS || (retryAt.get(id) ?? 0) > live.now) return false
    if (orders.running.some((order) => order.sale === id)) return false
    const phase = phaseAt(sale, live.now)
    return phase === 'open' ? sale.stock > 0 : phase === 'upcoming' && sale.opens_at - live.now < lead
  }

  /** One request at a time, because preparation is not urgent. */
  function check(): void {
    if (document.hidden || !live.canRequest || jobs.size > 0) return
    const id = [...passes.visible].find(isWanted)
    if (!id) return
    const postpone = (ms: number): unknown => retryAt.set(id, live.instant() + ms)
    start(id).done.then(
      (captcha) => captcha && postpone(captcha.until - live.instant()),
      (error: unknown) => postpone((error instanceof Refused && error.refusal.retry_ms) || RETRY_MS),
    )
  }

  function giveUp(): void {
    gaveUp = true
    onAction?.('give_up')
  }

  function endJobs(): void {
    jobs.forEach(({ control }) => control.abort())
    giveUp()
  }

  useInterval(CHECK_MS, check)
  watch(() => session.user?.id, endJobs)
  onScopeDispose(endJobs)

  /** Gets a pass before the buy. A rejection is only logged; the buy reports it. */
  async function getReady(sale: string): Promise<void> {
    await obtain(sale, false).catch((error: unknown) => console.warn('no pass yet:', error))
  }

  return {
    obtain,
    getReady,
    challenge: {
      answer: (text: string) => onAction?.({ answer: text }),
      other: () => onAction?.('other'),
      giveUp,
    },
  }
}
