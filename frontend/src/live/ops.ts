import { parseReply } from '../protocol/parse'
import type { Op, Refusal, OpReplies } from '../protocol/types'

/** Refused: the server rejected an op with a reason. */
export class Refused extends Error {
  override name = 'Refused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(`${refusal.code}: ${refusal.message}`)
    this.refusal = refusal
  }
}

/** Lost: no reply, because the connection broke or timed out. The outcome of the op is unknown. */
export class Lost extends Error {
  override name = 'Lost'
}

/** Unreadable: the reply cannot be parsed. The outcome of the op is unknown. */
export class Unreadable extends Lost {
  override name = 'Unreadable'
}

interface Pending {
  settle: (ok: unknown) => void
  fail: (error: Error) => void
  timer: ReturnType<typeof setTimeout>
}

/** Pending ops of one connection, by request id. */
export class PendingOps {
  #next = 1
  readonly #pending = new Map<number, Pending>()

  /** Registers an op; `send` receives the id for the frame. Rejects only with Refused or Lost. */
  register<O extends Op>(op: O, timeoutMs: number, send: (id: number) => void): Promise<OpReplies[O]> {
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#take(id)?.fail(new Lost(`no response to ${op}`)), timeoutMs)
      const settle = (ok: unknown): void => {
        try {
          resolve(parseReply(op, ok))
        } catch (error) {
          console.warn(`the reply to ${op} cannot be parsed:`, error)
          reject(new Unreadable(`unreadable reply to ${op}`))
        }
      }
      this.#pending.set(id, { settle, fail: reject, timer })
      try {
        send(id)
      } catch {
        this.#take(id)?.fail(new Lost(`${op} could not be sent`))
      }
    })
  }

  /** Delivers a reply to its op; a late reply is ignored. */
  settle(id: number, ok: unknown): void {
    this.#take(id)?.settle(ok)
  }

  refuse(id: number, refusal: Refusal): void {
    this.#take(id)?.fail(new Refused(refusal))
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0
  }

  /** Rejects all pending ops with Lost when the connection ends. */
  loseAll(): void {
    for (const id of [...this.#pending.keys()]) this.#take(id)?.fail(new Lost('connection lost'))
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    if (pending) clearTimeout(pending.timer)
    this.#pending.delete(id)
    return pending
  }
}
