import { randomBytes } from 'node:crypto'
import { png } from './picture.mjs'

/**
 * Accounts in memory, as the routes of the real server answer them. What would go out by mail is in `mails`, and each
 * picture's answer is in `pictures`.
 */
export class StandInAccounts {
  /** Seconds that an access token of an account lives. */
  life = 900
  mails = []
  /** Answers of pictures by their id. */
  pictures = new Map()
  /** Every log in asks for a picture. */
  guarded = false
  #accounts = new Map()
  #devices = new Map()
  #books = new Map()
  #links = new Map()
  #next = 7301444310000000000n

  /** `tokenOf(user, life, device)` makes access tokens, `revoke(devices)` ends the sockets of log ins. */
  constructor(tokenOf, revoke) {
    this.tokenOf = tokenOf
    this.revoke = revoke
  }

  /** Answers a request: `[status, body, cookie]`, or undefined for a path that it does not know. */
  answer(method, path, { body, user, device, cookie, ours }) {
    const route = `${method} ${path.replace(/\d{10,}/, ':id')}`
    const id = /\d{10,}/.exec(path)?.[0]
    const known = this.#routes[route]
    if (!known) return undefined
    if (route.includes('/me') && !user) return [401, refusal('unauthorized')]
    if (route.includes('/me') && device && this.#devices.get(device)?.revoked)
      return [401, refusal('unauthorized')]
    return known.call(this, { body: body ?? {}, user, device, cookie, ours, id })
  }

  /** An account that is there from the start. */
  add(email, password, name) {
    const created_at = Date.now()
    this.#accounts.set(email, { id: this.#id(), email, password, name, lang: 'en', active: true, created_at })
  }

  nameOf(user) {
    return this.#of(user)?.name
  }

  #routes = {
    'GET /auth/captcha': () => {
      const picture = this.picture()
      return [200, { ...picture, expires: Date.now() + 300_000 }]
    },
    'POST /auth/register': ({ body, user }) => {
      if (!this.#read(body.captcha)) return [403, refusal('captcha_required')]
      if (body.password.toLowerCase() === 'password1') return [400, refusal('bad_request')]
      const taken = this.#accounts.has(body.email)
      const { email, password, name = '' } = body
      if (!taken)
        this.#accounts.set(email, { id: user ?? this.#id(), email, password, name, lang: body.lang })
      this.#mail('activate', email)
      return [202, {}]
    },
    'POST /auth/activate': ({ body }) => {
      const email = this.#follow('activate', body.token)
      if (!email) return [404, refusal('not_found')]
      this.#accounts.get(email).active = true
      return [200, { email }]
    },
    'POST /auth/login': ({ body }) => {
      if (this.guarded && !this.#read(body.captcha)) return [403, refusal('captcha_required')]
      const account = this.#accounts.get(body.email)
      if (account?.password !== body.password) return [401, refusal('unauthorized')]
      if (!account.active) {
        this.#mail('activate', account.email)
        return [403, refusal('forbidden')]
      }
      return this.#enter(account, body.device)
    },
    'POST /auth/refresh': ({ cookie, ours }) => {
      const device = [...this.#devices.values()].find(({ refresh }) => refresh === cookie)
      if (!ours || !device || device.revoked) return [401, refusal('unauthorized')]
      return this.#welcome(this.#of(device.user), device)
    },
    'POST /auth/logout': ({ body, cookie, ours }) => {
      const device = [...this.#devices.values()].find(({ refresh }) => refresh === cookie)
      if (!ours || !device) return [401, refusal('unauthorized')]
      this.#end(({ id, user }) => id === device.id || (body.everywhere && user === device.user))
      return [200, {}, '']
    },
    'POST /auth/forgot': ({ body }) => {
      if (!this.#read(body.captcha)) return [403, refusal('captcha_required')]
      if (this.#accounts.has(body.email)) this.#mail('reset', body.email)
      return [202, {}]
    },
    'POST /auth/reset': ({ body }) => {
      const email = this.#follow('reset', body.token)
      if (!email) return [404, refusal('not_found')]
      const account = this.#accounts.get(email)
      account.password = body.password
      this.#end(({ user }) => user === account.id)
      return [200, {}]
    },
    'GET /me': ({ user }) => [200, this.#profile(user)],
    'PATCH /me': ({ user, body }) => {
      Object.assign(this.#of(user), body)
      return [200, this.#profile(user)]
    },
    'POST /me/password': ({ user, device, body }) => {
      const account = this.#of(user)
      if (account.password !== body.old) return [401, refusal('unauthorized')]
      account.password = body.new
      this.#end((other) => other.user === user && other.id !== device)
      return [200, {}]
    },
    'GET /me/devices': ({ user, device }) => {
      const mine = [...this.#devices.values()].filter((d) => d.user === user && !d.revoked)
      const devices = mine.map(({ id, name, created_at }) => ({
        id,
        name,
        created_at,
        last_seen_at: Date.now(),
        current: id === device,
      }))
      return [200, { devices }]
    },
    'DELETE /me/devices/:id': ({ user, id }) => {
      this.#end((other) => other.user === user && other.id === id)
      return [200, {}]
    },
    'GET /me/addresses': ({ user }) => [200, { addresses: this.#book(user) }],
    'POST /me/addresses': ({ user, body }) => {
      const book = this.#book(user)
      if (book.length === 20) return [409, refusal('limit_reached')]
      const address = { ...body, id: this.#id(), default: false }
      book.push(address)
      if (body.default || book.length === 1) this.#choose(book, address)
      return [200, address]
    },
    'PUT /me/addresses/:id': ({ user, id, body }) => {
      const book = this.#book(user)
      const address = book.find((a) => a.id === id)
      if (!address) return [404, refusal('not_found')]
      Object.assign(address, { ...body, default: address.default })
      if (body.default) this.#choose(book, address)
      return [200, address]
    },
    'DELETE /me/addresses/:id': ({ user, id }) => {
      const book = this.#book(user)
      const at = book.findIndex((a) => a.id === id)
      if (at < 0) return [404, refusal('not_found')]
      const [gone] = book.splice(at, 1)
      if (gone.default && book[0]) this.#choose(book, book[0])
      return [200, {}]
    },
    'GET /me/export': ({ user }) => [200, { user: this.#profile(user), addresses: this.#book(user) }],
    'POST /me/delete': ({ user, body }) => {
      const account = this.#of(user)
      if (account.password !== body.password) return [401, refusal('unauthorized')]
      this.#accounts.delete(account.email)
      this.#end((device) => device.user === user)
      return [200, {}]
    },
  }

  /** A picture and, in `pictures`, what it shows. */
  picture() {
    const id = randomBytes(9).toString('base64url')
    const shows = String(10_000 + (randomBytes(2).readUInt16BE() % 90_000))
    this.pictures.set(id, shows)
    return { id, image: png(shows) }
  }

  /** What the newest picture shows. */
  get newest() {
    return [...this.pictures.values()].at(-1)
  }

  read(id, answer) {
    const shows = this.pictures.get(id)
    this.pictures.delete(id)
    return shows !== undefined && shows === answer
  }

  #read(captcha) {
    return captcha !== undefined && this.read(captcha.id, captcha.answer)
  }

  #enter(account, name = '') {
    const device = { id: this.#id(), user: account.id, name, created_at: Date.now() }
    this.#devices.set(device.id, device)
    return this.#welcome(account, device)
  }

  #welcome({ id, name, email }, device) {
    device.refresh = `${device.id}.${randomBytes(32).toString('base64url')}`
    const access = this.tokenOf(id, this.life, device.id)
    const user = { id, name, role: 'shopper', email }
    return [200, { access, expires: Date.now() + this.life * 1000, user }, device.refresh]
  }

  #end(which) {
    const ended = [...this.#devices.values()].filter(which)
    ended.forEach((device) => (device.revoked = true))
    this.revoke(new Set(ended.map(({ id }) => id)))
  }

  isRevoked(device) {
    return this.#devices.get(device)?.revoked === true
  }

  #of(user) {
    return [...this.#accounts.values()].find(({ id }) => id === user)
  }

  #profile(user) {
    const account = this.#of(user)
    const { name = '', email, lang = 'en', created_at } = account ?? {}
    return { id: user, name, role: 'shopper', email, lang, created_at, guest: !account }
  }

  #book(user) {
    if (!this.#books.has(user)) this.#books.set(user, [])
    return this.#books.get(user)
  }

  #choose(book, wanted) {
    for (const address of book) address.default = address === wanted
  }

  #mail(kind, to) {
    const token = randomBytes(32).toString('base64url')
    this.#links.set(token, { kind, to })
    this.mails.push({ kind, to, link: `/?${kind}=${token}` })
  }

  #follow(kind, token) {
    const link = this.#links.get(token)
    if (link?.kind !== kind) return undefined
    this.#links.delete(token)
    return link.to
  }

  #id() {
    return String(this.#next++)
  }
}

function refusal(code) {
  return { error: { code, message: `stand-in: ${code}` } }
}
