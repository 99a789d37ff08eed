/// <reference lib="webworker" />
import { leadingZeros, PrefixHasher } from './sha256'

/** The messages between the page and this worker. */
export interface WorkRequest {
  text: string
  bits: number
}
export type WorkMessage = { tries: number } | { answer: string }

/** The worker computes for WORK_MS, then pauses for PAUSE_MS, so that a phone with one core can draw the page. */
const WORK_MS = 24
const PAUSE_MS = 4
/** Number of hashes between two reads of the clock. */
const HASHES_PER_ROUND = 512
/** Number of work periods between two progress messages. */
const PERIODS_PER_REPORT = 5

self.onmessage = ({ data }: MessageEvent<WorkRequest>) => {
  const hasher = new PrefixHasher(`${data.text}:`)
  let nonce = 0
  let periods = 0

  function work(): void {
    const until = performance.now() + WORK_MS
    do {
      for (const end = nonce + HASHES_PER_ROUND; nonce < end; nonce++) {
        if (leadingZeros(hasher.hash(String(nonce))) >= data.bits) return post({ answer: String(nonce) })
      }
    } while (performance.now() < until)
    if (++periods % PERIODS_PER_REPORT === 0) post({ tries: nonce })
    setTimeout(work, PAUSE_MS)
  }
  work()
}

function post(message: WorkMessage): void {
  self.postMessage(message)
}
