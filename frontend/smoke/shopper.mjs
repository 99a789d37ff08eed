import { ADDRESS, until } from './browser.mjs'

/** A guest who buys and pays over HTTP. */
export class Shopper {
  static async enter(base) {
    const shopper = new Shopper()
    shopper.base = base
    shopper.token = (await shopper.request('POST', '/auth/guest')).access
    return shopper
  }

  /** Calls the API; throws the response if it is an error. */
  async request(method, path, body) {
    const answer = await fetch(`${this.base}/api/v1${path}`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`)
    return answer.json()
  }

  /** Buys one unit in each of `many` open sales, pays, and returns the orders when they are paid. */
  async payFor(many) {
    const { slots } = await this.request('GET', '/slots')
    const open = slots.find(({ phase }) => phase === 'open')
    const { sales } = await this.request('GET', `/slots/${open.id}/sales`)
    const paid = []
    for (const sale of sales.filter(({ stock, challenge }) => stock > 0 && challenge === 'none')) {
      if (paid.length === many) break
      const order = await this.#buy(sale.id).catch(() => undefined) // sold out since the sales were read
      if (order) paid.push(await this.#pay(order))
    }
    if (paid.length < many) throw new Error(`only ${paid.length} of ${many} orders could be paid`)
    return paid
  }

  async #buy(sale) {
    const bought = { qty: 1, key: `smoke-${sale}`, address: ADDRESS }
    const { order } = await this.request('POST', `/sales/${sale}/buy`, bought)
    await this.#until(order, 'pending')
    return order
  }

  async #pay(order) {
    const { url } = await this.request('POST', `/orders/${order}/pay`, { via: 'page' })
    await fetch(url) // opens the cashier
    await fetch(new URL(`/admin/trades/${order}/pay`, url), { method: 'POST' })
    await this.#until(order, 'paid')
    return order
  }

  async #until(order, state) {
    await until(async () => {
      const known = await this.request('GET', `/orders/${order}`).catch(() => undefined) // the row does not exist yet
      return known?.state === state
    })
  }
}
