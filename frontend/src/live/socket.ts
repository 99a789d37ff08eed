import { Malformed, parseFrame } from '../protocol/parse'
import { SUBPROTOCOL } from '../protocol/types'
import type { Op, Refusal, Replies, Requests as Fields, ServerEvent, Welcome } from '../protocol/types'
import { backoff, mayReturn } from './backoff'
import { Lost, Refused, Requests } from './requests'

/** The part of WebSocket that is used, so that tests can put another one in its place. */
export type Wire = Pick<WebSocket, 'send' | 'close' | 'onopen' | 'onmessage' | 'onclose'>

export type LiveState =
  | { name: 'connecting' }
  | { name: 'live' }
  /** Lost; the next attempt comes after `delayMs`. */
  | { name: 'waiting'; delayMs: number }
  /** The server asked us to stay away, or stop() was called. */
  | { name: 'stopped'; code: number }

/** Who listens to the socket. */
export interface Listener {
  /** What to say in `hello`; asked again for every connection, because token and cursor change. */
  introduce(): Fields['hello']
  /** A hello was answered; `sentAt` is when it was sent, by `performance.now()`. */
  welcomed(welcome: Welcome, sentAt: number): void
  /** A hello was refused. The socket waits: correct the introduction and call reconnect(). */
  turnedAway(refusal: Refusal): void
  heard(event: ServerEvent): void
  changed(state: LiveState): void
}

const ANSWER_WITHIN_MS = 8_000
const WELCOME_WITHIN_MS = 10_000

export function dialPage(): Wire {
  return new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, SUBPROTOCOL)
}

/**
 * The one connection to the server. It says hello, stays connected with growing jittered pauses, keeps to
 * what `bye` and the close codes ask for, and carries ops to their replies. It knows nothing of sales or orders.
 */
export class LiveSocket {
  #wire: Wire | undefined
  #requests = new Requests()
  #attempt = 0
  #bye: Extract<ServerEvent, { ev: 'bye' }> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #state: LiveState = { name: 'stopped', code: 0 }
  readonly #listener: Listener
  readonly #dial: () => Wire

  constructor(listener: Listener, dial: () => Wire = dialPage) {
    this.#listener = listener
    this.#dial = dial
  }

  get state(): LiveState {
    return this.#state
  }

  /** Connects now, whatever was planned: at the start, with a new token, or when the network is back. */
  reconnect(): void {
    this.#leave()
    this.#become({ name: 'connecting' })
    const wire = this.#dial()
    this.#wire = wire
    this.#timer = setTimeout(() => this.#lost(wire, 0), WELCOME_WITHIN_MS)
    wire.onopen = () => this.#greet(wire)
    wire.onmessage = (message) => this.#receive(wire, message.data)
    wire.onclose = (event) => this.#lost(wire, event.code)
  }

  stop(): void {
    this.#leave()
    this.#become({ name: 'stopped', code: 0 })
  }

  /** Asks the server. Rejects with Refused when it says no, and with Lost when nobody knows. */
  request<O extends Op>(op: O, fields: Fields[O]): Promise<Replies[O]> {
    if (this.#state.name !== 'live' || !this.#wire) return Promise.reject(new Lost('not connected'))
    return this.#send(this.#wire, op, fields)
  }

  #send<O extends Op>(wire: Wire, op: O, fields: Fields[O]): Promise<Replies[O]> {
    return this.#requests.open(op, ANSWER_WITHIN_MS, (id) => wire.send(JSON.stringify({ id, op, ...fields })))
  }

  #greet(wire: Wire): void {
    if (wire !== this.#wire) return
    const sentAt = performance.now()
    this.#send(wire, 'hello', this.#listener.introduce()).then(
      (welcome) => {
        if (wire !== this.#wire) return
        clearTimeout(this.#timer)
        this.#attempt = 0
        this.#become({ name: 'live' })
        this.#listener.welcomed(welcome, sentAt)
      },
      (error: unknown) => {
        if (wire !== this.#wire) return
        if (error instanceof Refused && error.refusal.code === 'unauthorized') {
          this.#leave()
          this.#listener.turnedAway(error.refusal)
        } else {
          this.#lost(wire, 0)
        }
      },
    )
  }

  #receive(wire: Wire, data: unknown): void {
    if (wire !== this.#wire) return
    let frame
    try {
      frame = parseFrame(data)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn('ignored a frame:', error.message)
      return
    }
    switch (frame.kind) {
      case 'ok':
        return this.#requests.settle(frame.id, frame.ok)
      case 'error':
        return this.#requests.refuse(frame.id, frame.error)
      case 'event':
        if (frame.event.ev === 'bye') this.#bye = frame.event
        return this.#listener.heard(frame.event)
    }
  }

  #lost(wire: Wire, code: number): void {
    if (wire !== this.#wire) return
    const bye = this.#bye
    this.#leave()
    const reason = bye?.code ?? code
    if (!mayReturn(reason)) return this.#become({ name: 'stopped', code: reason })
    const delayMs = bye?.retry_ms ?? backoff(this.#attempt++)
    this.#become({ name: 'waiting', delayMs })
    this.#timer = setTimeout(() => this.reconnect(), delayMs)
  }

  /** Lets go of the present connection; nothing of it is heard any more. */
  #leave(): void {
    clearTimeout(this.#timer)
    const wire = this.#wire
    this.#wire = undefined
    this.#bye = undefined
    wire?.close()
    this.#requests.loseAll()
    this.#requests = new Requests()
  }

  #become(state: LiveState): void {
    this.#state = state
    this.#listener.changed(state)
  }
}
