/// <reference lib="webworker" />
import { leadingZeros, PrefixHasher } from './sha256'

/** What the page asks of this worker, and what it is told. */
export interface WorkOrder {
  text: string
  bits: number
}
export type WorkNews = { tries: number } | { answer: string }

/** It computes for so long, then rests: a phone with one core draws the page meanwhile. */
const WORK_MS = 24
const REST_MS = 4
/** How many numbers are tried between two looks at the clock, and how many spells of work between two words. */
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
