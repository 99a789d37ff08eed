/// <reference lib="webworker" />
import { leadingZeros, PrefixHasher } from './sha256'

/** The messages between the page and this worker. */
export interface WorkOrder {
  text: string
  bits: number
}
export type WorkNews = { tries: number } | { answer: string }

/** The worker computes for WORK_MS, then rests, so that a phone with one core can draw the page. */
const WORK_MS = 24
const REST_MS = 4
/** ROUND: hashes between two reads of the clock. TELL_EVERY: work periods between two progress messages. */
const ROUND = 512
const TELL_EVERY = 5

self.onmessage = ({ data }: MessageEvent<WorkOrder>) => {
  const hasher = new PrefixHasher(`${data.text}:`)
  let nonce = 0
  let spells = 0

  function work(): void {
    const until = performance.now() + WORK_MS
    do {
      for (const end = nonce + ROUND; nonce < end; nonce++) {
        if (leadingZeros(hasher.hash(String(nonce))) >= data.bits) return tell({ answer: String(nonce) })
      }
    } while (performance.now() < until)
    if (++spells % TELL_EVERY === 0) tell({ tries: nonce })
    setTimeout(work, REST_MS)
  }
  work()
}

function tell(news: WorkNews): void {
  self.postMessage(news)
}
