import { createHash } from 'node:crypto'
import { goods } from './goods.mjs'

const SLOT_MS = 5 * 60_000
const PASS_MS = 120_000
const PASSES_FROM_MS = 60_000
/** Units that simulated shoppers leave to the test. */
const UNITS_LEFT = 5
const HOLDING_STATES = new Set(['reserved', 'pending'])

/**
 * A shop in memory that follows enough of the protocol to show the page every state. `publish(user, event)` sends
 * personal events; with an undefined user it sends to all clients.
 */
export class StandInShop {
  /** Milliseconds from an accepted buy to its order; Infinity: until settle() is called. */
  settleAfter = 900
  /** The number of further buys that are performed but get a `busy` reply. */
  busyBuys = 0
  /** Milliseconds from an order to its expiry, if it is not paid. */
  payWindow = 60_000
  /** The time from the end of payments to the end of the order, in milliseconds. */
  margin = 0
  /** Whether the payment gateway fails. */
  gatewayAway = false
  /** Zero bits that a proof of work needs. */
  bits = 12
  slots = []
  sales = new Map()
  orders = new Map()
  #keys = new Map()
  /** The user and sale of each pass, and the assigned work. */
  #passes = new Map()
  #work = new Map()
  description =
    '<p>Made to be used <strong>every day</strong>.</p><ul><li>Two years of warranty</li><li>Spare parts for ten</li></ul>' +
    '<p>More at <a href="https://maker.example/" rel="nofollow noopener">the maker</a>.</p>'
  rules = 'The price holds for this sale only.\nReturns within seven days, unworn and with its box.'
  #next = 7301444480512000000n
  #events = 0

  /** `publish` receives the events; `sales` is the number of sales per slot. */
  constructor(publish, sales = goods.length) {
    this.publish = publish
    this.goods = Array.from({ length: sales }, (_, n) => goods[n % goods.length])
    const start = Date.now() - SLOT_MS - 60_000
    for (let n = 0; n < 8; n++) this.#addSlot(start + n * SLOT_MS)
  }

  /** A sale as its HTTP route returns it, or undefined. */
  detail(id) {
    const sale = this.sales.get(id)
    return sale && { ...sale, phase: 'open', description: this.description, rules: this.rules }
  }

  id() {
    return String(this.#next++)
  }

  #addSlot(opens_at) {
    const slot = { id: this.id(), opens_at, closes_at: opens_at + SLOT_MS, sales: this.goods.length }
    this.slots.push(slot)
    for (const [name, category, picture, list_price_fen, price_fen, stock, limit] of this.goods) {
      const id = this.id()
      const others = goods.filter(([, , other]) => other !== picture).slice(0, 2)
      const images = [[name, '', picture], ...others].map(([alt, , file]) => ({
        url: `/products/${file}.svg`,
        alt,
      }))
      this.sales.set(id, {
        id,
        slot: slot.id,
        product: { id: this.id(), name, category, images, list_price_fen },
        price_fen,
        initial: stock,
        added: 0,
        stock,
        held: 0,
        sold: 0,
        limit,
        paused: false,
        challenge: 'none',
        opens_at,
        closes_at: slot.closes_at,
        done: 0,
        tickets: 0,
        rate: 0,
        watching: 0,
      })
    }
  }

  phase(of) {
    const now = Date.now()
    return now < of.opens_at ? 'upcoming' : now < of.closes_at ? 'open' : 'closed'
  }

  /** Moves the day so that the current slot ends in `ms` milliseconds. */
  endCurrentIn(ms) {
    const by = Date.now() + ms - this.current().closes_at
    for (const window of [...this.slots, ...this.sales.values()]) {
      window.opens_at += by
      window.closes_at += by
    }
  }

  /** Sends the slots to all clients. */
  publishSlots() {
    for (const { id, ...slot } of this.slots) {
      this.publish(undefined, { ev: 'slot', ...slot, slot: id, phase: this.phase(slot) })
    }
  }

  current() {
    return this.slots.find((slot) => Date.now() < slot.closes_at)
  }

  view(sale) {
    return { ...sale, phase: this.phase(sale) }
  }

  watch(slot) {
    const id = slot ?? this.current()?.id
    return {
      slots: this.slots.map((s) => ({ ...s, phase: this.phase(s) })),
      sales: [...this.sales.values()].filter((sale) => sale.slot === id).map((sale) => this.view(sale)),
    }
  }

  ticks(sales) {
    return sales.map(({ id, stock, held, sold, done, rate, watching }) => ({
      id,
      stock,
      held,
      sold,
      done,
      rate,
      watching,
    }))
  }

  /** Returns `{ok}` or `{error}`. */
  buy(user, { sale: id, qty, key, address, pass }) {
    const known = this.#keys.get(`${user}/${id}/${key}`)
    if (known) return { ok: this.#receipt(known) }
    const sale = this.sales.get(id)
    if (!sale) return refuse('not_found')
    if (sale.paused) return refuse('paused')
    const phase = this.phase(sale)
    if (sale.pass && this.#passes.get(pass) !== `${user}/${id}`) return refuse('pass_required')
    if (phase === 'upcoming') return refuse('not_open', { retry_ms: sale.opens_at - Date.now() })
    if (phase === 'closed') return refuse('closed')
    const mine = [...this.orders.values()].filter(
      (o) => o.user === user && o.sale === id && HOLDING_STATES.has(o.state),
    )
    if (mine.reduce((n, o) => n + o.qty, qty) > sale.limit) {
      return refuse('limit_reached', { orders: mine.map((o) => ({ id: o.id, state: o.state })) })
    }
    if (sale.stock < qty) return refuse('sold_out')
    this.#passes.delete(pass)
    const order = this.#reserve(user, sale, qty, key, address)
    if (this.busyBuys > 0) {
      this.busyBuys--
      return refuse('busy', { retry_ms: 300 })
    }
    return { ok: this.#receipt(order) }
  }

  /** Returns a pass or the required challenge; `picture` creates captchas. */
  pass(user, { sale: id }, picture) {
    const sale = this.sales.get(id)
    if (!sale?.pass) return refuse('wrong_state')
    const until = Date.now() + PASS_MS
    const wait = sale.opens_at - Date.now() - PASSES_FROM_MS
    if (wait > 0) return refuse('not_open', { retry_ms: wait })
    if (sale.challenge === 'none') return this.#give(user, id)
    if (sale.challenge === 'captcha') return { ok: { challenge: { kind: 'captcha', ...picture(), until } } }
    const text = `${user}.${id}.${this.id()}`
    this.#work.set(text, this.bits)
    return { ok: { challenge: { kind: 'work', id: text, text, bits: this.bits, until } } }
  }

  /** Checks a solution; `read` reports whether the captcha shows the given text. */
  solve(user, { sale, task, answer }, read) {
    const bits = this.#work.get(task)
    if (bits === undefined) return read(task, answer) ? this.#give(user, sale) : refuse('captcha_required')
    const hash = createHash('sha256').update(`${task}:${answer}`).digest()
    return hash.readUInt32BE() >>> (32 - bits) === 0 ? this.#give(user, sale) : refuse('pass_required')
  }

  #give(user, sale) {
    const pass = `pass-${this.id()}`
    this.#passes.set(pass, `${user}/${sale}`)
    return { ok: { pass, until: Date.now() + PASS_MS } }
  }

  #reserve(user, sale, qty, key, address) {
    sale.stock -= qty
    sale.held += qty
    const order = {
      id: this.id(),
      user,
      key,
      sale: sale.id,
      product_name: sale.product.name,
      qty,
      price_fen: sale.price_fen,
      amount_fen: sale.price_fen * qty,
      state: 'reserved',
      ticket: ++sale.tickets,
      rev: 0,
      created_at: Date.now(),
      address,
    }
    this.orders.set(order.id, order)
    this.#keys.set(`${user}/${sale.id}/${key}`, order)
    if (this.settleAfter < Infinity) {
      setTimeout(() => this.#settle(order), this.settleAfter).unref() // does not keep the process alive
    }
    return order
  }

  /** Creates the orders of all reservations now. */
  settle() {
    for (const order of this.orders.values()) if (order.state === 'reserved') this.#settle(order)
  }

  #settle(order) {
    this.sales.get(order.sale).done++
    if (order.state !== 'reserved') return
    order.pay_until = Date.now() + this.payWindow
    this.#become(order, 'pending')
    setTimeout(() => this.#giveBack(order, 'expired'), this.payWindow + this.margin).unref()
  }

  /** Expires all unpaid orders now. */
  expire() {
    for (const order of this.orders.values()) if (order.state === 'pending') this.#giveBack(order, 'expired')
  }

  #giveBack(order, state) {
    if (!HOLDING_STATES.has(order.state)) return
    const sale = this.sales.get(order.sale)
    sale.held -= order.qty
    sale.stock += order.qty
    order.cancelled_at = Date.now()
    this.#become(order, state)
  }

  #become(order, state) {
    order.state = state
    order.rev++
    this.publish(order.user, {
      ev: 'order',
      cursor: `1-${++this.#events}`,
      key: order.key,
      order: publicOrder(order),
    })
  }

  #receipt(order) {
    const { done } = this.sales.get(order.sale)
    return {
      order: order.id,
      ticket: order.ticket,
      place: Math.max(0, order.ticket - 1 - done),
      state: order.state,
    }
  }

  cancel(user, id) {
    const order = this.orders.get(id)
    if (order?.user !== user) return refuse('not_found')
    this.#giveBack(order, 'cancelled')
    return { ok: { state: order.state } }
  }

  pay(user, { order: id, via }) {
    const order = this.orders.get(id)
    if (order?.user !== user) return refuse('not_found')
    if (order.state !== 'pending') return refuse('wrong_state')
    if (this.gatewayAway) return refuse('busy', { retry_ms: 300 })
    const address = `https://pay.example/${id}`
    return { ok: { [via === 'qr' ? 'qr' : 'url']: address } }
  }

  ordersOf(user, { before, limit = 20 }) {
    const mine = [...this.orders.values()]
      .filter((o) => o.user === user && o.rev > 0 && (!before || o.id < before))
      .reverse()
    return { orders: mine.slice(0, limit).map(publicOrder), more: mine.length > limit }
  }

  reservationsOf(user) {
    const mine = [...this.orders.values()].filter((o) => o.user === user && o.state === 'reserved')
    return mine.map((o) => ({
      ...this.#receipt(o),
      sale: o.sale,
      qty: o.qty,
      key: o.key,
      created_at: o.created_at,
    }))
  }

  cursor() {
    return `1-${this.#events}`
  }

  /**
   * One step of simulated shoppers: some buy, and some who hold a unit pay or cancel. They always leave units to the
   * tested shopper.
   */
  simulateBuyers() {
    for (const sale of this.sales.values()) {
      if (this.phase(sale) !== 'open' || sale.paused) continue
      sale.watching = Math.max(20, sale.watching + Math.round(Math.random() * 9 - 4))
      const pressed = Math.random() < 0.3 && sale.stock > UNITS_LEFT ? 1 : 0
      const paid = Math.random() < 0.05 && sale.held > 4 ? 1 : 0
      const returned = Math.random() < 0.15 && sale.held > 4 ? 1 : 0
      sale.stock += returned - pressed
      sale.tickets += pressed
      sale.done += pressed
      sale.held += pressed - paid - returned
      sale.sold += paid
      sale.rate = Math.round((sale.rate * 0.9 + pressed) * 10) / 10
    }
  }

  /** Changes a sale and sends it to all clients. */
  change(id, what) {
    const sale = this.sales.get(id)
    Object.assign(sale, what)
    this.publish(undefined, { ev: 'sale', sale: this.view(sale) })
  }
}

/** An order as its buyer sees it; JSON omits undefined fields. */
function publicOrder(order) {
  return { ...order, user: undefined, key: undefined }
}

export function refuse(code, more = {}) {
  return { error: { code, message: `stand-in: ${code}`, ...more } }
}
