import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { WebSocketServer } from 'ws'
import { StandInAccounts } from './accounts.mjs'
import { refuse, StandInShop } from './shop.mjs'

const dist = new URL('../../dist/', import.meta.url).pathname
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; form-action 'none'; connect-src 'self' ws: wss:"

const SIGNED_OUT = 4506
const BLOCKED = 4507

/**
 * A server in memory for states that are hard to produce on the real one. It serves the built page with the same
 * security policy and uses the same protocol.
 */
export class StandIn {
  /** The number of further requests for sale details that fail with 503. */
  lostDetails = 0
  /** Every frame received. */
  received = []
  /** Number of guests created. */
  guestsMade = 0
  /** Guests are created after this promise. */
  guestsFrom = Promise.resolve()
  /** A hello gets its reply after this promise. */
  hellosFrom = Promise.resolve()
  /** The number of further buys that are performed without a reply, or with an unreadable reply. */
  lostBuys = 0
  tornBuys = 0
  /** Orders that a hello lists in a state of a later protocol version. */
  missed = []
  #clients = new Set()
  #users = 0
  #ended = new Set()
  #stalled = false
  #simulating = true

  /**
   * `sales` is the number of sales per slot. Their counters change every `buyersMs` and are sent every `tickMs`, in
   * milliseconds.
   */
  constructor(sales, buyersMs = 1_000, tickMs = 500) {
    Object.assign(this, { buyersMs, tickMs })
    this.shop = new StandInShop((user, event) => this.#publish(user, event), sales)
    this.accounts = new StandInAccounts(tokenOf, (devices) => this.#revoke(devices))
  }

  /** Starts on a free port of the loopback interface until `close`. Returns the URL. */
  async start() {
    this.http = createServer((request, response) => this.#serve(request, response))
    const sockets = new WebSocketServer({
      server: this.http,
      path: '/ws',
      handleProtocols: () => 'stampede.v1',
    })
    sockets.on('connection', (socket) => this.#attend(socket))
    this.timers = [
      setInterval(() => this.#simulating && this.shop.simulateBuyers(), this.buyersMs),
      setInterval(() => this.#simulating && this.#tick(), this.tickMs),
    ]
    await new Promise((resolve) => this.http.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${this.http.address().port}`
  }

  /**
   * Starts or stops changes of the numbers. On stop, the final numbers are sent, because the last step may not have
   * been sent yet.
   */
  set simulating(moving) {
    this.#simulating = moving
    if (!moving) this.#tick()
  }

  close() {
    this.timers.forEach(clearInterval)
    this.#clients.forEach((client) => client.socket.terminate())
    this.http.close()
  }

  /** Disconnects all clients, like a node that drains. */
  drain(retry_ms) {
    this.#publish(undefined, { ev: 'bye', code: 4000, retry_ms })
    this.#clients.forEach((client) => client.socket.close(4000))
  }

  /** Stalls the network: frames are lost in both directions, but no connection closes. */
  stall() {
    this.#stalled = true
  }

  /** Ends the stall. Frames sent during it are lost; `cut` also closes all connections. */
  resume(cut = false) {
    this.#stalled = false
    if (cut) this.#clients.forEach((client) => client.socket.terminate())
  }

  /** Expires the tokens of all existing guests. */
  endTokens() {
    for (let n = 1; n <= this.#users; n++) this.#ended.add(guestId(n))
  }

  #serve(request, response) {
    const path = normalize(new URL(request.url, 'http://x').pathname)
    if (path === '/api/v1/auth/guest') return this.#guest(request, response)
    if (path.startsWith('/api/v1/sales/')) return this.#detail(response, path.split('/')[4])
    if (path === '/api/v1/shop') return response.end('{"texts":{}}')
    if (path.startsWith('/api/v1/'))
      return void this.#account(request, response, path.slice('/api/v1'.length))
    const file = join(dist, path === '/' ? 'index.html' : path)
    if (!existsSync(file)) return response.writeHead(404).end()
    response.writeHead(200, {
      'Content-Type': types[extname(file)] ?? '',
      'Content-Security-Policy': policy,
    })
    createReadStream(file).pipe(response)
  }

  #detail(response, id) {
    // A browser repeats the request by itself if the connection breaks, so the error is a 503.
    if (this.lostDetails > 0 && this.lostDetails--) return response.writeHead(503).end()
    const sale = this.shop.detail(id)
    response.writeHead(sale ? 200 : 404, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(sale ?? refuse('not_found')))
  }

  async #guest(request, response) {
    const old = userOf(request.headers.authorization?.slice(7))
    if (this.#ended.has(old)) return response.writeHead(401).end(JSON.stringify(refuse('unauthorized')))
    await this.guestsFrom
    if (!old) this.guestsMade++
    const id = old ?? guestId(++this.#users)
    const access = tokenOf(id)
    response.end(JSON.stringify({ access, user: { id, name: `Guest ${id.slice(-3)}` } }))
  }

  async #account(request, response, path) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const claims = claimsOf(request.headers.authorization?.slice(7))
    const content = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : undefined
    const [status, body, cookie] = this.accounts.answer(request.method, path, {
      body: content,
      user: claims?.sub,
      device: claims?.did,
      cookie: /stampede_refresh=([^;]+)/.exec(request.headers.cookie ?? '')?.[1],
      ours: request.headers['x-stampede'] === '1',
    }) ?? [404, refuse('not_found')]
    if (cookie !== undefined)
      response.setHeader(
        'Set-Cookie',
        `stampede_refresh=${cookie}; Path=/api/v1/auth; HttpOnly; SameSite=Strict${cookie ? '' : '; Max-Age=0'}`,
      )
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  }

  /** Closes the sockets of revoked devices. */
  #revoke(devices) {
    for (const client of this.#clients) if (devices.has(client.device)) this.#end(client, SIGNED_OUT)
  }

  /** Blocks and disconnects all clients, as the block list does. */
  block() {
    this.#clients.forEach((client) => this.#end(client, BLOCKED))
  }

  #end(client, code) {
    this.#send(client, { ev: 'bye', code, retry_ms: 0 })
    client.socket.close(code)
  }

  #attend(socket) {
    const client = { socket, slots: new Set(), turn: Promise.resolve() }
    this.#clients.add(client)
    socket.on('close', () => this.#clients.delete(client))
    socket.on('message', (data) => {
      if (this.#stalled) return
      const { id, op, ...fields } = JSON.parse(data)
      this.received.push({ op, ...fields })
      client.turn = client.turn.then(async () => {
        if (op === 'hello') await this.hellosFrom
        const answer = this.#answer(client, op, fields)
        if (answer) this.#send(client, { id, ...answer })
      })
    })
  }

  #send({ socket }, frame) {
    if (!this.#stalled) socket.send(JSON.stringify(frame))
  }

  #buy(client, fields) {
    const answer = this.shop.buy(client.user, fields)
    if (this.lostBuys > 0 && this.lostBuys--) return undefined
    if (this.tornBuys > 0 && this.tornBuys--) return { ok: { order: null } }
    return answer
  }

  #answer(client, op, fields) {
    if (op === 'hello') return this.#hello(client, fields)
    if (op === 'time') return { ok: { t0: fields.t0, now: Date.now() } }
    if (op === 'watch') {
      const view = this.shop.watch(fields.slot)
      view.sales.forEach((sale) => client.slots.add(sale.slot))
      return { ok: view }
    }
    if (op === 'renew') return { ok: { expires: Date.now() + 900_000 } }
    if (op === 'unwatch') return { ok: client.slots.delete(fields.slot) && {} }
    if (!client.user) return refuse('unauthorized')
    if (op === 'buy') return this.#buy(client, fields)
    if (op === 'pass') return this.shop.pass(client.user, fields, () => this.accounts.picture())
    if (op === 'solve')
      return this.shop.solve(client.user, fields, (id, text) => this.accounts.read(id, text))
    if (op === 'pay') return this.shop.pay(client.user, fields)
    if (op === 'cancel') return this.shop.cancel(client.user, fields.order)
    if (op === 'orders') return { ok: this.shop.ordersOf(client.user, fields) }
    return refuse('unknown_op')
  }

  #hello(client, { token }) {
    client.device = claimsOf(token)?.did
    if (this.#ended.has(userOf(token)) || this.accounts.isRevoked(client.device))
      return refuse('unauthorized')
    client.user = userOf(token)
    const name = this.accounts.nameOf(client.user) ?? `Guest ${client.user?.slice(-3)}`
    const mine = client.user ? { user: { id: client.user, name } } : {}
    const reservations = client.user ? this.shop.reservationsOf(client.user) : []
    return {
      ok: {
        now: Date.now(),
        version: 1,
        session: 's',
        cursor: this.shop.cursor(),
        missed: this.missed.map((order) => laterState(order, this.shop.cursor())),
        reset: true,
        reservations,
        ...mine,
      },
    }
  }

  #tick() {
    for (const client of this.#clients) {
      const sales = [...this.shop.sales.values()].filter((sale) => client.slots.has(sale.slot))
      if (sales.length > 0) this.#send(client, { ev: 'tick', now: Date.now(), sales: this.shop.ticks(sales) })
    }
  }

  #publish(user, event) {
    for (const client of this.#clients) {
      if (user === undefined || client.user === user) this.#send(client, event)
    }
  }
}

function guestId(n) {
  return String(7301444300000000000n + BigInt(n))
}

/** The event of an order in a state of a later protocol version. */
function laterState(order, cursor) {
  const later = {
    ...order,
    user: undefined,
    key: undefined,
    rev: order.rev + 10,
    state: 'of a later version',
  }
  return { ev: 'order', cursor, key: order.key, order: later }
}

/** A token with the right shape for the page. This server does not check signatures. `life` is in seconds. */
function tokenOf(user, life = 3600, did = undefined) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  return `${part({ alg: 'none' })}.${part({ sub: user, did, iat: now, exp: now + life })}.x`
}

function claimsOf(token) {
  const body = token?.split('.')[1]
  return body ? JSON.parse(Buffer.from(body, 'base64url').toString()) : undefined
}

function userOf(token) {
  return claimsOf(token)?.sub
}
