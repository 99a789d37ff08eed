import { ref, shallowRef } from 'vue'
import type { BuyPass } from '../protocol/types'
import { defineStore } from './define'
import { useLive } from './live'
import { asReadonly } from './readonly'

/** A pass that ends this soon, in milliseconds, may not reach the server in time. */
const MARGIN_MS = 1_500

/** The challenge before a pass; `forBuy` means that a buy continues afterwards. */
export interface Challenge {
  readonly sale: string
  readonly forBuy: boolean
  readonly kind: 'work' | 'captcha'
  /** The picture; undefined while it loads. */
  readonly image?: string
  /** The last solution was wrong. */
  readonly wrong?: boolean
  /** The next captcha is available at this instant of the server's clock. */
  readonly waitsUntil?: number
}

/** The available passes, the running work, and the displayed challenge, all of the current user of this page. */
export const usePasses = defineStore('passes', () => {
  const live = useLive()
  const bySale = ref(new Map<string, BuyPass>())
  /** The progress of proof of work, from 0 to 1, by sale. */
  const working = ref(new Map<string, number>())
  /** Sales whose cards are visible. */
  const visible = ref(new Set<string>())
  const shown = shallowRef<Challenge>()

  /** The remaining validity of a sale's pass, in milliseconds. */
  function remainingMs(sale: string, now: number): number {
    const pass = bySale.value.get(sale)
    return pass ? Math.max(0, pass.until - MARGIN_MS - now) : 0
  }

  function passFor(sale: string): string | undefined {
    return remainingMs(sale, live.instant()) > 0 ? bySale.value.get(sale)?.pass : undefined
  }

  function store(sale: string, pass: BuyPass): void {
    bySale.value.set(sale, pass)
    working.value.delete(sale)
  }

  /** The pass was used or rejected. */
  function drop(sale: string): void {
    bySale.value.delete(sale)
  }

  function work(sale: string, share: number | undefined): void {
    if (share === undefined) working.value.delete(sale)
    else working.value.set(sale, share)
  }

  function setVisible(sale: string, isVisible: boolean): void {
    if (isVisible) visible.value.add(sale)
    else visible.value.delete(sale)
  }

  function show(challenge: Challenge | undefined): void {
    shown.value = challenge
  }

  /** Deletes everything after a change of the user. */
  function clear(): void {
    bySale.value.clear()
    working.value.clear()
    shown.value = undefined
  }

  return {
    working: asReadonly(working),
    visible: asReadonly(visible),
    shown: asReadonly(shown),
    remainingMs,
    passFor,
    store,
    drop,
    work,
    setVisible,
    show,
    clear,
  }
})
