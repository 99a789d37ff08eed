import { parseReply } from '../protocol/parse'
import type { Op, Refusal, OpReplies } from '../protocol/types'

/** The server refused an op and said why. */
export class Refused extends Error {
  override name = 'Refused'
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(`${refusal.code}: ${refusal.message}`)
    this.refusal = refusal
  }
}

/** No answer came: the connection broke or took too long. What became of the op is unknown. */
export class Lost extends Error {
  override name = 'Lost'
}

/** An answer came that cannot be read. What became of the op is as unknown as without one. */
export class Unreadable extends Lost {
  override name = 'Unreadable'
}

interface Pending {
  settle: (ok: unknown) => void
  fail: (error: Error) => void
  timer: ReturnType<typeof setTimeout>
}

/** Ops under way on one connection, each waiting for the reply with its id. */
export class PendingOps {
  #next = 1
  readonly #pending = new Map<number, Pending>()

  /** Registers an op; `send` gets the id to put on the wire. Rejects with Refused or Lost, and with nothing else. */
  open<O extends Op>(op: O, timeoutMs: number, send: (id: number) => void): Promise<OpReplies[O]> {
    const id = this.#next++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#take(id)?.fail(new Lost(`no answer to ${op}`)), timeoutMs)
      const settle = (ok: unknown): void => {
        try {
          resolve(parseReply(op, ok))
        } catch (error) {
          console.warn(`an answer to ${op} cannot be read:`, error)
          reject(new Unreadable(`unreadable answer to ${op}`))
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

  /** Hands a reply to whoever waits for it; a reply that came too late finds nobody. */
  settle(id: number, ok: unknown): void {
    this.#take(id)?.settle(ok)
  }

  refuse(id: number, refusal: Refusal): void {
    this.#take(id)?.fail(new Refused(refusal))
  }

  get isEmpty(): boolean {
    return this.#pending.size === 0
  }

  /** The connection is gone: nothing of what is under way will be answered. */
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
