import { randomBytes } from 'node:crypto'
import { png } from './picture.mjs'

/**
 * Accounts in memory with the routes of the real server. `mails` holds the outgoing mails, and `pictures` the text of
 * each captcha.
 */
export class StandInAccounts {
  /** Lifetime of an access token of an account, in seconds. */
  life = 900
  mails = []
  /** Captcha texts by id. */
  pictures = new Map()
  /** Every login requires a captcha. */
  guarded = false
  #accounts = new Map()
  #devices = new Map()
  #books = new Map()
  #links = new Map()
  #next = 7301444310000000000n

  /** `tokenOf(user, life, device)` creates access tokens; `revoke(devices)` closes the sockets of devices. */
  constructor(tokenOf, revoke) {
    this.tokenOf = tokenOf
    this.revoke = revoke
  }

  /** Handles a request. Returns `[status, body, cookie]`, or undefined for an unknown path. */
  answer(method, path, { body, user, device, cookie, ours }) {
    const route = `${method} ${path}`
    const known = this.#routes[route]
    if (!known) return undefined
    if (route.includes('/me') && !user) return [401, refusal('unauthorized')]
    if (route.includes('/me') && device && this.#devices.get(device)?.revoked)
      return [401, refusal('unauthorized')]
    return known.call(this, { body: body ?? {}, user, device, cookie, ours })
  }

  /** Adds an account that exists from the start. */
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
      const account = this.#accounts.get(this.#links.get(body.token)?.to)
      if (!account) return [404, refusal('not_found')]
      if (account.password !== body.password) return [403, refusal('forbidden')]
      account.active = true
      return [200, { email: this.#follow('activate', body.token) }]
    },
    'POST /auth/unregister': ({ body }) => {
      const email = this.#follow('activate', body.token)
      return email && this.#accounts.delete(email) ? [200, {}] : [404, refusal('not_found')]
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
    'POST /auth/logout': ({ cookie, ours }) => {
      const device = [...this.#devices.values()].find(({ refresh }) => refresh === cookie)
      if (!ours || !device) return [401, refusal('unauthorized')]
      this.#end(({ id }) => id === device.id)
      return [200, {}, '']
    },
    'GET /me': ({ user }) => [200, this.#profile(user)],
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
    'GET /me/addresses': ({ user }) => [200, { addresses: this.#books.get(user) ?? [] }],
    'POST /me/addresses': ({ user, body }) => {
      const book = this.#books.get(user) ?? []
      const address = { ...body, id: this.#id(), default: book.length === 0 }
      this.#books.set(user, [...book, address])
      return [200, address]
    },
  }

  /** Creates a captcha and stores its text in `pictures`. */
  picture() {
    const id = randomBytes(9).toString('base64url')
    const shows = String(10_000 + (randomBytes(2).readUInt16BE() % 90_000))
    this.pictures.set(id, shows)
    return { id, image: png(shows) }
  }

  /** The text of the newest captcha. */
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
