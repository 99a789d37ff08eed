import type { PayVia } from '../protocol/types'
import { router } from '../router'

/** The payment method for this device: the gateway has one page for touch and one for a mouse. */
export function paymentMethod(): PayVia {
  return window.matchMedia('(pointer: coarse)').matches ? 'wap' : 'page'
}

/** Opens the prepared tab at a URL, or closes it. */
export interface Departure {
  open(url: string): void
  cancel(): void
}

/**
 * Prepares to open the gateway. On a desktop it uses a new tab, so that this page stays open; on a phone it uses this
 * tab. The browser allows a new tab only while it handles the click. If the browser blocks the tab, this tab is used.
 */
export function departure(via: PayVia): Departure {
  const tab = via === 'page' ? window.open('', '_blank') : null
  if (tab) tab.opener = null
  return {
    open(url) {
      if (!/^https?:\/\//.test(url)) return this.cancel()
      if (tab && !tab.closed) tab.location.replace(url)
      else window.location.assign(url)
    },
    cancel: () => tab?.close(),
  }
}

/**
 * Shows the order for which the shopper returns from the gateway, with the shop behind it, so that Back does not lead to
 * the cashier. The return does not prove a payment: only an order event does.
 */
export async function showReturnedOrder(): Promise<void> {
  const { out_trade_no: order } = router.currentRoute.value.query
  if (order === undefined) return
  await router.replace('/')
  await router.push(`/order/${String(order)}`)
}
