import type { Wire } from '../live/socket'

type Sent = { id: number; op: string } & Record<string, unknown>

/** A connection in memory; the test acts as the server. */
export class FakeWire implements Wire {
  onopen: WebSocket['onopen'] = null
  onmessage: WebSocket['onmessage'] = null
  onclose: WebSocket['onclose'] = null
  /** As in WebSocket: 0 connecting, 1 open, 2 closing, 3 closed. */
  readyState = 0
  readonly sent: Sent[] = []
  closed = false
  /** If set, `time` gets its reply at once, so that the heartbeat stays quiet. */
  serverClock: (() => number) | undefined

  send(data: string): void {
    const frame = JSON.parse(data) as Sent
    this.sent.push(frame)
    if (frame.op === 'time' && this.serverClock) this.reply('time', { t0: frame.t0, now: this.serverClock() })
  }

  close(): void {
    this.closed = true
    this.readyState = 3
  }

  open(): void {
    this.readyState = 1
    this.onopen?.call(this as unknown as WebSocket, new Event('open'))
  }

  deliver(frame: unknown): void {
    const data = typeof frame === 'string' ? frame : JSON.stringify(frame)
    this.onmessage?.call(this as unknown as WebSocket, { data } as MessageEvent)
  }

  /** The server closes, or the network breaks (1006). */
  drop(code = 1006): void {
    this.readyState = 3
    this.onclose?.call(this as unknown as WebSocket, { code } as CloseEvent)
  }

  last(op: string): Sent {
    const found = this.sent.findLast((frame) => frame.op === op)
    if (!found) throw new Error(`no ${op} was sent`)
    return found
  }

  /** Replies to the last op of that name. */
  reply(op: string, ok: unknown): void {
    this.deliver({ id: this.last(op).id, ok })
  }

  refuse(op: string, code: string): void {
    this.deliver({ id: this.last(op).id, error: { code, message: '' } })
  }
}
