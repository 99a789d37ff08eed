import type { PayVia } from '../protocol/types'

/** The gateway has a page for each: one for hands, one for a mouse. */
export function wayToPay(): PayVia {
  return window.matchMedia('(pointer: coarse) and (max-width: 820px)').matches ? 'wap' : 'page'
}

export interface Departure {
  to(url: string): void
  stay(): void
}

/**
 * Prepares to send the shopper to the gateway: with a mouse into another tab, so that this page stays live; on a
 * phone in this one. The tab must be opened while the press is still being handled, or the browser blocks it, and
 * then this page has to do.
 */
export function departure(via: PayVia): Departure {
  const tab = via === 'page' ? window.open('', '_blank') : null
  if (tab) tab.opener = null
  return {
    to(url) {
      if (!/^https?:\/\//.test(url)) return this.stay()
      if (tab && !tab.closed) tab.location.replace(url)
      else window.location.assign(url)
    },
    stay: () => tab?.close(),
  }
}

/**
 * Whether the shopper comes back from the gateway; what it wrote into the address goes away. It proves nothing:
 * only an event says that an order is paid.
 */
export function cameBack(): boolean {
  if (!new URLSearchParams(window.location.search).has('out_trade_no')) return false
  window.history.replaceState(null, '', window.location.pathname)
  return true
}
