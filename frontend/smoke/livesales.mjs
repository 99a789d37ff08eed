/** The interval of ticks, as on a real server, and of changes by simulated shoppers, in milliseconds. */
const TICK_MS = 100
const SHOPPERS_MS = 250
const HOUR_MS = 3_600_000
/** Units that simulated shoppers leave. */
const UNITS_LEFT = 5
const PICTURES = ['headphones', 'kettle', 'keyboard', 'lamp', 'backpack', 'watch']

/** Gives a relayed page one slot with any number of sales, whose numbers simulated shoppers change. */
export class LiveSales {
  simulating = true
  /** The number of ticks sent. */
  ticks = 0

  constructor(relay, count) {
    // The countdown keeps its hours during the test.
    const slot = {
      id: '1',
      phase: 'open',
      opens_at: Date.now() - HOUR_MS,
      closes_at: Date.now() + 1.5 * HOUR_MS,
    }
    this.list = Array.from({ length: count }, (_, n) => saleOf(slot, n))
    const view = { slots: [{ ...slot, sales: count }], sales: this.list }
    relay.answer('watch', () => ({ ok: view }), { times: Infinity })
    relay.edit((frame) => (frame.ev === 'tick' ? undefined : frame))
    setInterval(() => {
      if (this.simulating) this.list.forEach(simulate)
    }, SHOPPERS_MS).unref()
    setInterval(() => {
      relay.send({ ev: 'tick', now: Date.now(), sales: this.list.map(tickOf) })
      this.ticks++
    }, TICK_MS).unref()
  }
}

function saleOf({ id: slot, phase, opens_at, closes_at }, n) {
  const picture = PICTURES[n % PICTURES.length]
  const stock = 40 + 40 * (n % 4)
  const image = { url: `/products/${picture}.svg`, alt: picture }
  const product = { id: `${200 + n}`, name: `Sample ${picture} ${n}`, category: 'Samples', images: [image] }
  return {
    ...{ id: `${100 + n}`, slot, phase, opens_at, closes_at },
    product: { ...product, list_price_fen: 129_900, ships: false, texts: {} },
    price_fen: 64_900,
    ...{ initial: stock, added: 0, stock, held: 0, sold: 0, done: 0, rate: 0, watching: 0 },
    ...{ limit: 2, paused: false, challenge: 'none' },
  }
}

const tickOf = ({ id, stock, held, sold, done, rate, watching }) => ({
  ...{ id, stock, held, sold, done, rate, watching },
})

/** Some shoppers buy, and some who hold a unit pay or cancel. */
function simulate(sale) {
  const bought = Math.random() < 0.3 && sale.stock > UNITS_LEFT ? 1 : 0
  const paid = Math.random() < 0.05 && sale.held > 4 ? 1 : 0
  const returned = Math.random() < 0.15 && sale.held > 4 ? 1 : 0
  sale.stock += returned - bought
  sale.held += bought - paid - returned
  sale.sold += paid
  sale.done += bought
  sale.rate = Math.round((sale.rate * 0.9 + bought) * 10) / 10
  sale.watching = Math.max(20, sale.watching + Math.round(Math.random() * 9 - 4))
}
