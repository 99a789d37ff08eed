import type { PayVia } from '../protocol/types'

/** The payment page for this device: the gateway has one for touch and one for a mouse. */
export function paymentMethod(): PayVia {
  return window.matchMedia('(pointer: coarse) and (max-width: 820px)').matches ? 'wap' : 'page'
}

export interface Departure {
  to(url: string): void
  stay(): void
}

/**
 * Prepares to open the gateway: with a mouse in another tab, so that this page stays live; on a phone in this tab. The
 * browser only allows a new tab while it handles the click; if it blocks the tab, this tab is used.
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
 * Reports whether the shopper returns from the gateway, and removes the gateway's parameters from the address. This
 * does not prove a payment: only an order event does.
 */
export function isReturnFromGateway(): boolean {
  if (!new URLSearchParams(window.location.search).has('out_trade_no')) return false
  window.history.replaceState(null, '', window.location.pathname)
  return true
}
