/** What operators of the stand-in see and do, from memory: the board's feed, acts with their journal, switches, blocks. */
export class StandInOperator {
  journal = []
  blocks = []
  refunds = []
  switches = {
    tick_ms: 100,
    http_buy: true,
    least_challenge: 'none',
    lists: 'live',
    work_bits: 18,
    version: 1,
  }
  alarms = []
  /** How many of the next acts are done without an answer. */
  lostAnswers = 0
  #answers = new Map()
  #versions = new Map()
  #points = []

  /** `tell` says an event to everybody. */
  constructor(shop, tell) {
    this.shop = shop
    this.tell = tell
  }

  /** Answers a request below /operator: `[status, body]`, or undefined when the answer is lost. */
  answer(method, url, { body = {}, actor, key }) {
    const { pathname, searchParams } = new URL(url, 'http://x')
    if (method === 'GET') return this.#read(pathname, searchParams)
    if (!/^[A-Za-z0-9_-]{8,64}$/.test(key ?? '')) return [400, refusal('bad_request')]
    const asked = JSON.stringify([method, url, body])
    const known = this.#answers.get(key)
    if (known && known.asked !== asked) return [409, refusal('duplicate_key')]
    const answer = known?.answer ?? this.#act(`${method} ${pathname}`, body, actor)
    this.#answers.set(key, { asked, answer })
    if (this.lostAnswers > 0 && this.lostAnswers--) return undefined
    return answer
  }

  #read(path, query) {
    if (path === '/journal') return [200, this.#page(query)]
    if (path === '/journal/verify') {
      const rows = this.journal.length
      return [200, { rows, ok: true, head: { seq: rows, hash: rows ? this.journal.at(-1).hash : '' } }]
    }
    if (path === '/slots') return [200, { slots: [], zone: 'Asia/Shanghai' }]
    if (path === '/notice') return [200, {}]
    if (path === '/switches') return [200, this.switches]
    if (path === '/refunds') {
      const found = this.refunds.filter(({ state }) => state === query.get('state'))
      return [200, { refunds: found, more: false }]
    }
    if (path === '/orders') {
      const all = [...this.shop.orders.values()].filter(({ state }) => state === query.get('state'))
      return [200, { orders: all, more: false }]
    }
    if (path === '/blocks') return [200, { blocks: this.blocks }]
    const sale = this.shop.sales.get(path.split('/')[2])
    return sale ? [200, this.#sale(sale)] : [404, refusal('not_found')]
  }

  #page(query) {
    const before = Number(query.get('before') ?? Infinity)
    const limit = Number(query.get('limit') ?? 50)
    const object = query.get('object')
    const found = this.journal.filter((e) => e.seq < before && (!object || e.object === object)).reverse()
    return { entries: found.slice(0, limit), more: found.length > limit }
  }

  #act(route, body, actor) {
    const [, what] = /\/(\w+)$/.exec(route) ?? []
    const sale = this.shop.sales.get(route.split('/')[2])
    if (route.startsWith('POST /sales/') && sale) return this.#onSale(sale, what, body, actor)
    if (route === 'PATCH /switches') {
      if (body.version !== this.switches.version)
        return [409, { error: { ...refusal('conflict').error, current: this.switches } }]
      const before = this.switches
      const { note, ...change } = body
      this.switches = { ...before, ...change, version: before.version + 1 }
      return this.#done(actor, 'switches.set', 'switches', before, this.switches, note, this.switches, true)
    }
    if (route === 'POST /blocks') {
      const block = { id: this.blocks.length + 1, ...body, created_by: actor, created_at: Date.now() }
      this.blocks = [...this.blocks, block]
      return this.#done(actor, 'block.add', `block:${block.id}`, undefined, block, '', block, true)
    }
    const decided = /^POST \/refunds\/(\d+)\/approve$/.exec(route)
    if (decided) {
      const refund = this.refunds.find(({ order }) => order === decided[1])
      refund.state = 'open'
      return this.#done(actor, 'refund.approve', `order:${decided[1]}`, {}, refund, body.note, {}, false)
    }
    const undone = /^POST \/journal\/(\d+)\/undo$/.exec(route)
    if (undone) return this.#undo(Number(undone[1]), body, actor)
    return [404, refusal('not_found')]
  }

  #onSale(sale, what, { version, note = '', units }, actor) {
    const before = this.#sale(sale)
    if (version !== before.version) return [409, { error: { ...refusal('conflict').error, current: before } }]
    if (what === 'pause' || what === 'resume') {
      if (sale.paused === (what === 'pause')) return [409, refusal('wrong_state')]
      sale.paused = what === 'pause'
    }
    if (what === 'stock') {
      sale.stock += units
      sale.added += units
    }
    this.#versions.set(sale.id, version + 1)
    this.tell({ ev: 'sale', sale: this.shop.view(sale) })
    const after = this.#sale(sale)
    const can = what === 'pause' || what === 'resume'
    return this.#done(actor, `sale.${what}`, `sale:${sale.id}`, before, after, note, after, can)
  }

  #undo(seq, { note = '' }, actor) {
    const entry = this.journal.find((e) => e.seq === seq)
    if (!entry?.undoable) return [409, refusal('wrong_state')]
    const sale = this.shop.sales.get(entry.object.split(':')[1])
    sale.paused = entry.before.paused
    this.#versions.set(sale.id, this.#versions.get(sale.id) + 1)
    entry.undoable = false
    entry.undone_by = this.journal.length + 1
    return this.#done(actor, `${entry.kind}.undo`, entry.object, entry.after, entry.before, note, {}, false)
  }

  #done(actor, kind, object, before, after, note, answer, undoable) {
    const seq = this.journal.length + 1
    const hash = seq.toString(16).padStart(64, '7')
    const who = { actor_id: '7301444300000000001', actor_name: actor, role: 'operator', via: 'http' }
    this.journal.push({
      seq,
      at: Date.now(),
      ...who,
      source: '127.0.0.1',
      request: `r${seq}`,
      kind,
      object,
      before,
      after,
      note,
      undoable,
      hash,
    })
    return [200, answer]
  }

  #sale(sale) {
    return { ...this.shop.view(sale), withdrawn: 0, cap: 0, version: this.#versions.get(sale.id) ?? 1 }
  }

  /** The board with its last 15 minutes, which this shop makes up. */
  history(now = Date.now()) {
    if (this.#points.length === 0)
      for (let at = now - 890_000; at < now; at += 5_000) this.#points.push(point(at))
    return { now, history: this.#points }
  }

  board(now = Date.now()) {
    const rates = point(now)
    const views = [...this.shop.sales.values()].map((sale) => this.shop.view(sale))
    const sales = views.filter(({ phase }) => phase !== 'closed').slice(0, 8)
    return {
      now,
      ...rates,
      sales: sales.map((s) => ({ ...s, name: s.product.name, withdrawn: 0 })),
      partitions: rates.lags.map((lag, p) => ({
        p,
        lag,
        pending: p % 3,
        oldest_ms: lag > 0 ? 40 + lag : 0,
        dead: 0,
        deadlines: 12 + p,
      })),
      nodes: ['tokyo', 'osaka'].map((name, i) => ({
        id: i + 1,
        name,
        version: 'v1.4.0-12-g9f86d08',
        roles: i ? ['api'] : ['api', 'worker', 'sweeper'],
        sockets: 1840 - i * 40,
        users: 1720 - i * 33,
        leases: [{ of: 'node', until: now + 9_000 }],
        up_s: 86_400 * 3 + i * 400,
        cpu: 0.42 + i / 10,
        heap: 180 * 2 ** 20,
      })),
      payments: { open: 3, in_doubt: 1, refunds_stuck: 0 },
      alarms: this.alarms,
    }
  }
}

/** The rates of an instant: a rush that swells and ebbs every few minutes. */
function point(at) {
  const tide = (Math.sin(at / 70_000) + 1) / 2
  const ripple = (Math.sin(at / 3_100) + 1) / 2
  const buys = Math.round(60 + 900 * tide ** 3 + 60 * ripple)
  const reserved = Math.round(buys * (0.35 + 0.1 * ripple))
  return {
    at,
    buys_s: buys,
    reserved_s: reserved,
    confirmed_s: Math.max(0, Math.round(reserved - 8 * ripple)),
    refused_s: {
      sold_out: Math.round((buys - reserved) * 0.7),
      limit_reached: Math.round((buys - reserved) * 0.3),
    },
    press_ms: { p50: 9 + 6 * tide + 2 * ripple, p99: 30 + 90 * tide ** 2 + 15 * ripple },
    errors_s: 0,
    lags: [0, 1, 2, 3, 4, 5, 6, 7].map((p) => Math.round(Math.max(0, 40 * tide ** 2 - 4 * p))),
    pending: 4,
  }
}

function refusal(code) {
  return { error: { code, message: `stand-in: ${code}`, retry_ms: 0 } }
}
