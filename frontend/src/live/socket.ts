import { Malformed, parseFrame } from '../protocol/parse'
import { SUBPROTOCOL } from '../protocol/types'
import type { Op, OpFields, OpReplies, Refusal, ServerEvent, Welcome } from '../protocol/types'
import { backoff, BLOCKED, mayReturn } from './backoff'
import { Lost, PendingOps, Refused } from './ops'

/** The part of WebSocket that is used, so that tests can put another one in its place. */
export type Wire = Pick<WebSocket, 'readyState' | 'send' | 'close' | 'onopen' | 'onmessage' | 'onclose'>

export type LiveState =
  | { name: 'connecting' }
  | { name: 'live' }
  /** Lost; the next attempt comes after `delayMs`. */
  | { name: 'waiting'; delayMs: number }
  /** The server asked us to stay away, or close() was called. */
  | { name: 'stopped'; code: number }

/** Asks the server. Rejects with Refused when it says no, and with Lost when nobody knows. */
export type Ask = <O extends Op>(op: O, fields: OpFields[O]) => Promise<OpReplies[O]>

/** Who listens to the socket. */
export interface Listener {
  /**
   * What to say in `hello`; asked again for every connection, because token and cursor change. A promise holds the
   * hello back.
   */
  introduce(): OpFields['hello'] | Promise<OpFields['hello']>
  /** A hello is on its way: what is asked here goes out behind it, without waiting for its answer. */
  greeted(ask: Ask): void
  /** A hello was answered; `sentAt` is when it was sent, by `performance.now()`. */
  welcomed(welcome: Welcome, sentAt: number): void
  /** A hello was refused. The socket waits: correct the introduction and call reconnect(). */
  turnedAway(refusal: Refusal): void
  /** Twice in a row a connection did not come about at all, so that nobody could say why. */
  unreached(): void
  heard(event: ServerEvent): void
  /** An event that this page's protocol does not name. */
  heardElse(event: unknown): void
  changed(state: LiveState): void
}

/** The readyState of a WebSocket that carries frames. */
const OPEN = 1

const ANSWER_WITHIN_MS = 8_000
const WELCOME_WITHIN_MS = 10_000
/** A connection that said nothing for so long is silent, if an answer is overdue. */
const SILENT_MS = 3_000
/** When an answer is overdue. */
const OVERDUE_MS = 1_500

export function dialPage(): Wire {
  return new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, SUBPROTOCOL)
}

/**
 * The one connection to the server. It says hello, stays connected with growing jittered pauses, keeps to
 * what `bye` and the close codes ask for, and carries ops to their replies. It knows nothing of sales or orders.
 */
export class LiveSocket {
  #wire: Wire | undefined
  #pending = new PendingOps()
  #attempt = 0
  #bye: Extract<ServerEvent, { ev: 'bye' }> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #state: LiveState = { name: 'stopped', code: 0 }
  #greeted = false
  #opened = false
  #closed = false
  /** When the server last said anything, and when the first question after that was sent; `performance.now()`. */
  #heardAt = -Infinity
  #askedAt: number | undefined
  readonly #listener: Listener
  readonly #dial: () => Wire

  constructor(listener: Listener, dial: () => Wire = dialPage) {
    this.#listener = listener
    this.#dial = dial
  }

  get state(): LiveState {
    return this.#state
  }

  /** Whether hello was said on the present connection, with whatever token there was. */
  get isGreeted(): boolean {
    return this.#greeted
  }

  /** How long nothing was heard, in milliseconds. */
  get quietMs(): number {
    return performance.now() - this.#heardAt
  }

  /**
   * Whether the server should have said something by now and did not. A browser does not tell that the network
   * stands still; and a shop in which nothing happens says nothing, so that only a question shows it.
   */
  get isSilent(): boolean {
    if (this.quietMs < SILENT_MS) return false
    if (this.#state.name !== 'live') return true
    return this.#askedAt !== undefined && performance.now() - this.#askedAt >= OVERDUE_MS
  }

  /** Connects now, whatever was planned: at the start, with a new token, or when the network is back. */
  reconnect(): void {
    if (this.#closed) return
    this.#leave()
    this.#become({ name: 'connecting' })
    const wire = this.#dial()
    this.#wire = wire
    this.#timer = setTimeout(() => this.#lost(wire, 0), WELCOME_WITHIN_MS)
    wire.onopen = () => {
      this.#opened = true
      const hello = this.#listener.introduce()
      if (hello instanceof Promise) void hello.then((fields) => this.#greet(wire, fields))
      else this.#greet(wire, hello)
    }
    wire.onmessage = (message) => this.#receive(wire, message.data)
    wire.onclose = (event) => this.#lost(wire, event.code)
  }

  /** The shop keeps us out: nothing connects again until reconnect() is called. */
  keptOut(): void {
    if (this.#closed) return
    this.#leave()
    this.#become({ name: 'stopped', code: BLOCKED })
  }

  /** Ends for good: nobody connects again. */
  close(): void {
    this.#closed = true
    this.#leave()
    this.#become({ name: 'stopped', code: 0 })
  }

  /** Asks the server. Rejects with Refused when it says no, and with Lost when nobody knows. */
  request<O extends Op>(op: O, fields: OpFields[O]): Promise<OpReplies[O]> {
    if (this.#state.name !== 'live' || !this.#wire) return Promise.reject(new Lost('not connected'))
    return this.#send(this.#wire, op, fields)
  }

  #send<O extends Op>(wire: Wire, op: O, fields: OpFields[O]): Promise<OpReplies[O]> {
    this.#askedAt ??= performance.now()
    return this.#pending.open(op, ANSWER_WITHIN_MS, (id) => {
      // What is sent on a wire that is closing is dropped, with an error in the console; its end is told in a moment, and
      // with it all that is under way is lost.
      if (wire.readyState === OPEN) wire.send(JSON.stringify({ id, op, ...fields }))
    })
  }

  #greet(wire: Wire, hello: OpFields['hello']): void {
    if (wire !== this.#wire) return
    const sentAt = performance.now()
    this.#greeted = true
    const answer = this.#send(wire, 'hello', hello)
    this.#listener.greeted((op, fields) => this.#send(wire, op, fields))
    answer.then(
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
        } else if (error instanceof Refused && error.refusal.code === 'forbidden') {
          this.keptOut()
        } else {
          this.#lost(wire, 0)
        }
      },
    )
  }

  #receive(wire: Wire, data: unknown): void {
    if (wire !== this.#wire) return
    this.#heardAt = performance.now()
    this.#askedAt = undefined
    this.#read(data)
    // What is under way still waits for its answer: without it a line that dies now would be noticed when that is lost.
    if (wire === this.#wire && !this.#pending.isEmpty) this.#askedAt = this.#heardAt
  }

  #read(data: unknown): void {
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
        return this.#listener.heard(frame.event)
      case 'unknown':
        return this.#listener.heardElse(frame.event)
    }
  }

  #lost(wire: Wire, code: number): void {
    if (wire !== this.#wire) return
    const bye = this.#bye
    const opened = this.#opened
    this.#leave()
    this.#heardAt = -Infinity
    const reason = bye?.code ?? code
    if (!mayReturn(reason)) return this.#become({ name: 'stopped', code: reason })
    const delayMs = bye?.retry_ms ?? backoff(this.#attempt++)
    this.#become({ name: 'waiting', delayMs })
    this.#timer = setTimeout(() => this.reconnect(), delayMs)
    if (!opened && this.#attempt === 2) this.#listener.unreached()
  }

  /** Lets go of the present connection; nothing of it is heard any more. */
  #leave(): void {
    clearTimeout(this.#timer)
    const wire = this.#wire
    this.#wire = undefined
    this.#bye = undefined
    this.#greeted = false
    this.#opened = false
    this.#askedAt = undefined
    wire?.close()
    this.#pending.loseAll()
    this.#pending = new PendingOps()
  }

  #become(state: LiveState): void {
    this.#state = state
    this.#listener.changed(state)
  }
}
