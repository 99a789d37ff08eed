import { Malformed, parseFrame } from '../protocol/parse'
import { SUBPROTOCOL } from '../protocol/types'
import type { Op, OpFields, OpReplies, Refusal, ServerEvent, Welcome } from '../protocol/types'
import { backoff, BLOCKED, DRAIN, mayReconnect } from './backoff'
import { Lost, PendingOps, Refused } from './ops'

/** The used part of WebSocket; tests replace it. */
export type Wire = Pick<WebSocket, 'readyState' | 'send' | 'close' | 'onopen' | 'onmessage' | 'onclose'>

export type LiveState =
  | { name: 'connecting' }
  | { name: 'live' }
  /** Lost, or closed by a planned drain; the next attempt follows after `delayMs`. */
  | { name: 'waiting'; delayMs: number; drained: boolean }
  /** The browser has no network; no attempt is planned. */
  | { name: 'offline' }
  /** The server forbids a reconnect, or close() was called. */
  | { name: 'stopped'; code: number }

/** Sends an op. Rejects with Refused if the server rejects it, and with Lost if the outcome is unknown. */
export type SendOp = <O extends Op>(op: O, fields: OpFields[O]) => Promise<OpReplies[O]>

/** The callbacks of the socket. */
export interface Listener {
  /**
   * Returns the fields of `hello`. It is called for every connection, because token and cursor change. A promise delays
   * the hello.
   */
  helloFields(): OpFields['hello'] | Promise<OpFields['hello']>
  /** The hello was sent. Ops sent here follow it without waiting for its reply. */
  helloSent(send: SendOp): void
  /** The hello succeeded; `sentAt` is its send time by `performance.now()`. */
  welcomed(welcome: Welcome, sentAt: number): void
  /** The hello was rejected. The socket waits: correct the fields and call reconnect(). */
  rejected(refusal: Refusal): void
  /** Two connection attempts in a row failed before the connection was open. The browser reports no reason. */
  connectFailed(): void
  received(event: ServerEvent): void
  /** An event that this page's protocol does not define. */
  receivedUnknown(event: unknown): void
  changed(state: LiveState): void
}

/** The readyState of an open WebSocket. */
const OPEN = 1

const REPLY_TIMEOUT_MS = 8_000
const WELCOME_TIMEOUT_MS = 10_000
/** A connection without a frame for this time, in milliseconds, is silent if a reply is overdue. */
const SILENT_MS = 3_000
/** A reply is overdue after this time, in milliseconds. */
const OVERDUE_MS = 1_500

export function dialPage(): Wire {
  return new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, SUBPROTOCOL)
}

/**
 * LiveSocket is the only connection to the server. It sends hello, reconnects with growing jittered pauses, obeys `bye`
 * and the close codes, and delivers replies to their ops. It does not depend on sales or orders.
 */
export class LiveSocket {
  #wire: Wire | undefined
  #pending = new PendingOps()
  #attempt = 0
  #bye: Extract<ServerEvent, { ev: 'bye' }> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #state: LiveState = { name: 'stopped', code: 0 }
  #helloSent = false
  #opened = false
  #closed = false
  /** Time of the last frame, and of the first request after it, by `performance.now()`. */
  #receivedAt = -Infinity
  #requestedAt: number | undefined
  readonly #listener: Listener
  readonly #dial: () => Wire

  constructor(listener: Listener, dial: () => Wire = dialPage) {
    this.#listener = listener
    this.#dial = dial
  }

  get state(): LiveState {
    return this.#state
  }

  /** Whether hello was sent on the current connection, with or without a token. */
  get isHelloSent(): boolean {
    return this.#helloSent
  }

  /** The time since the last frame, in milliseconds. */
  get quietMs(): number {
    return performance.now() - this.#receivedAt
  }

  /**
   * Whether a frame from the server is overdue. The browser does not report a stalled network, and an idle shop sends
   * nothing, so only an unanswered request proves it.
   */
  get isSilent(): boolean {
    if (this.quietMs < SILENT_MS) return false
    if (this.#state.name !== 'live') return true
    return this.#requestedAt !== undefined && performance.now() - this.#requestedAt >= OVERDUE_MS
  }

  /** Connects now and cancels a planned attempt: at the start, with a new token, or when the network is back. */
  reconnect(): void {
    if (this.#closed) return
    this.#leave()
    this.#setState({ name: 'connecting' })
    const wire = this.#dial()
    this.#wire = wire
    this.#timer = setTimeout(() => this.#lost(wire, 0), WELCOME_TIMEOUT_MS)
    wire.onopen = () => {
      this.#opened = true
      const hello = this.#listener.helloFields()
      if (hello instanceof Promise) void hello.then((fields) => this.#sendHello(wire, fields))
      else this.#sendHello(wire, hello)
    }
    wire.onmessage = (message) => this.#receive(wire, message.data)
    wire.onclose = (event) => this.#lost(wire, event.code)
  }

  /** The server blocks this client: no attempt follows until reconnect() is called. */
  block(): void {
    if (this.#closed) return
    this.#leave()
    this.#setState({ name: 'stopped', code: BLOCKED })
  }

  /** The browser has no network: no attempt follows until reconnect() is called. */
  goOffline(): void {
    if (this.#state.name === 'stopped') return
    this.#leave()
    this.#receivedAt = -Infinity
    this.#setState({ name: 'offline' })
  }

  /** Closes permanently; reconnect() has no effect afterwards. */
  close(): void {
    this.#closed = true
    this.#leave()
    this.#setState({ name: 'stopped', code: 0 })
  }

  /** Sends an op. Rejects with Refused if the server rejects it, and with Lost if the outcome is unknown. */
  request<O extends Op>(op: O, fields: OpFields[O]): Promise<OpReplies[O]> {
    if (this.#state.name !== 'live' || !this.#wire) return Promise.reject(new Lost('not connected'))
    return this.#send(this.#wire, op, fields)
  }

  #send<O extends Op>(wire: Wire, op: O, fields: OpFields[O]): Promise<OpReplies[O]> {
    this.#requestedAt ??= performance.now()
    return this.#pending.register(op, REPLY_TIMEOUT_MS, (id) => {
      // A closing socket would drop the frame and log an error. Its close event follows soon and makes the pending ops
      // fail.
      if (wire.readyState === OPEN) wire.send(JSON.stringify({ id, op, ...fields }))
    })
  }

  #sendHello(wire: Wire, hello: OpFields['hello']): void {
    if (wire !== this.#wire) return
    const sentAt = performance.now()
    this.#helloSent = true
    const reply = this.#send(wire, 'hello', hello)
    this.#listener.helloSent((op, fields) => this.#send(wire, op, fields))
    reply.then(
      (welcome) => {
        if (wire !== this.#wire) return
        clearTimeout(this.#timer)
        this.#attempt = 0
        this.#setState({ name: 'live' })
        this.#listener.welcomed(welcome, sentAt)
      },
      (error: unknown) => {
        if (wire !== this.#wire) return
        if (error instanceof Refused && error.refusal.code === 'unauthorized') {
          this.#leave()
          this.#listener.rejected(error.refusal)
        } else if (error instanceof Refused && error.refusal.code === 'forbidden') {
          this.block()
        } else {
          this.#lost(wire, 0)
        }
      },
    )
  }

  #receive(wire: Wire, data: unknown): void {
    if (wire !== this.#wire) return
    this.#receivedAt = performance.now()
    this.#requestedAt = undefined
    this.#dispatch(data)
    // Other ops may still wait for replies. Their time starts again, so that a connection that dies now is detected
    // before they time out.
    if (wire === this.#wire && !this.#pending.isEmpty) this.#requestedAt = this.#receivedAt
  }

  #dispatch(data: unknown): void {
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
        return this.#pending.settle(frame.id, frame.ok)
      case 'error':
        return this.#pending.refuse(frame.id, frame.error)
      case 'event':
        if (frame.event.ev === 'bye') this.#bye = frame.event
        return this.#listener.received(frame.event)
      case 'unknown':
        return this.#listener.receivedUnknown(frame.event)
    }
  }

  #lost(wire: Wire, code: number): void {
    if (wire !== this.#wire) return
    const bye = this.#bye
    const opened = this.#opened
    this.#leave()
    this.#receivedAt = -Infinity
    const reason = bye?.code ?? code
    if (!mayReconnect(reason)) return this.#setState({ name: 'stopped', code: reason })
    // A browser without a network reports it. The opposite is no proof of a connection.
    if (navigator.onLine === false) return this.goOffline()
    const delayMs = bye?.retry_ms ?? backoff(this.#attempt++)
    this.#setState({ name: 'waiting', delayMs, drained: bye?.code === DRAIN })
    this.#timer = setTimeout(() => this.reconnect(), delayMs)
    if (!opened && this.#attempt === 2) this.#listener.connectFailed()
  }

  /** Abandons the current connection and ignores its further events. */
  #leave(): void {
    clearTimeout(this.#timer)
    const wire = this.#wire
    this.#wire = undefined
    this.#bye = undefined
    this.#helloSent = false
    this.#opened = false
    this.#requestedAt = undefined
    wire?.close()
    this.#pending.loseAll()
    this.#pending = new PendingOps()
  }

  #setState(state: LiveState): void {
    this.#state = state
    this.#listener.changed(state)
  }
}
