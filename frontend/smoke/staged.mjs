/**
 * The slots and sales of a relayed page, which only the test changes: the page keeps the first values from the server,
 * and does not receive events of slots, sales and notices.
 */
export class StagedShop {
  /** By id, as the page has received them. */
  slots = new Map()
  sales = new Map()
  /** Ids of the orders that the server has created. */
  orders = new Set()
  #relay
  #shift = 0
  #held

  constructor(relay) {
    this.#relay = relay
    relay.edit((frame) => this.#edit(frame))
  }

  current() {
    return [...this.slots.values()].find(({ closes_at }) => Date.now() < closes_at)
  }

  /** The sales of a slot; by default, of the current one. */
  salesOf({ id } = this.current()) {
    return [...this.sales.values()].filter(({ slot }) => slot === id)
  }

  /** Changes a sale on the page. */
  change(id, changes = {}) {
    const sale = Object.assign(this.sales.get(id), changes)
    this.#relay.send({ ev: 'sale', sale })
  }

  /** Moves all slots so that the current one ends in `ms` milliseconds. */
  endCurrentIn(ms) {
    const current = this.current()
    const by = Date.now() + ms - current.closes_at
    this.#shift += by
    for (const staged of [...this.slots.values(), ...this.sales.values()]) move(staged, by)
    for (const { id, ...slot } of this.slots.values()) this.#relay.send({ ev: 'slot', slot: id, ...slot })
    for (const { id } of this.salesOf(current)) this.change(id)
  }

  /** The page receives events of orders only after release(). */
  holdOrders() {
    this.#held = []
  }

  release() {
    for (const frame of this.#held) this.#relay.send(frame)
    this.#held = undefined
  }

  /** Sends a banner to the page. */
  notify(text, level = 'info') {
    this.#relay.send({ ev: 'notice', level, text, texts: {} })
  }

  #edit(frame) {
    if (['tick', 'sale', 'slot', 'notice'].includes(frame.ev)) return undefined
    if (frame.ev === 'order') {
      this.orders.add(frame.order.id)
      if (this.#held) return void this.#held.push(frame)
    }
    if (frame.ok?.sales) {
      frame.ok.slots = frame.ok.slots.map((slot) => this.#stage(this.slots, slot))
      frame.ok.sales = frame.ok.sales.map((sale) => this.#stage(this.sales, sale))
    }
    return frame
  }

  #stage(all, read) {
    if (!all.has(read.id)) all.set(read.id, move(read, this.#shift))
    return all.get(read.id)
  }
}

function move(staged, ms) {
  staged.opens_at += ms
  staged.closes_at += ms
  return staged
}
