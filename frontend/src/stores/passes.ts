import { defineStore } from 'pinia'
import { ref, shallowRef } from 'vue'
import type { BuyPass } from '../protocol/types'
import { useLive } from './live'
import { asReadonly } from './readonly'

/** A pass that ends this soon may not reach the server in time. */
const MARGIN_MS = 1_500

/** What a shopper is asked for, or waits for, before a pass; `press` says that a press of Buy goes on afterwards. */
export interface Challenge {
  readonly sale: string
  readonly press: boolean
  readonly kind: 'work' | 'captcha'
  /** The picture; undefined while it is on its way. */
  readonly image?: string
  /** The last answer was wrong. */
  readonly wrong?: boolean
  /** The next picture comes at this instant of the server's clock. */
  readonly waitsUntil?: number
}

/** The passes at hand, those on their way, and the challenge that is on show. They belong to this page and its user. */
export const usePasses = defineStore('passes', () => {
  const live = useLive()
  const bySale = ref(new Map<string, BuyPass>())
  /** How far the work for a pass is, from 0 to 1, by sale. */
  const working = ref(new Map<string, number>())
  /** Sales whose cards are in sight. */
  const inSight = ref(new Set<string>())
  const shown = shallowRef<Challenge>()

  /** How long the pass for a sale still serves, in milliseconds. */
  function left(sale: string, now: number): number {
    const pass = bySale.value.get(sale)
    return pass ? Math.max(0, pass.until - MARGIN_MS - now) : 0
  }

  function at(sale: string): string | undefined {
    return left(sale, live.instant()) > 0 ? bySale.value.get(sale)?.pass : undefined
  }

  function hold(sale: string, pass: BuyPass): void {
    bySale.value.set(sale, pass)
    working.value.delete(sale)
  }

  /** The pass is spent, or was not taken. */
  function drop(sale: string): void {
    bySale.value.delete(sale)
  }

  function work(sale: string, share: number | undefined): void {
    if (share === undefined) working.value.delete(sale)
    else working.value.set(sale, share)
  }

  function see(sale: string, isInSight: boolean): void {
    if (isInSight) inSight.value.add(sale)
    else inSight.value.delete(sale)
  }

  function show(challenge: Challenge | undefined): void {
    shown.value = challenge
  }

  /** Somebody else is here now. */
  function clear(): void {
    bySale.value.clear()
    working.value.clear()
    shown.value = undefined
  }

  return {
    working: asReadonly(working),
    inSight: asReadonly(inSight),
    shown: asReadonly(shown),
    left,
    at,
    hold,
    drop,
    work,
    see,
    show,
    clear,
  }
})
