/// <reference lib="webworker" />
import { sha256 } from '@noble/hashes/sha2.js'

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
  const encoder = new TextEncoder()
  // The prefix is hashed once. All numbers share the other buffers, which doubles the speed.
  const prefix = sha256.create().update(encoder.encode(`${data.text}:`))
  const hasher = prefix.clone()
  const digits = new Uint8Array(20)
  const hash = new Uint8Array(32)
  const view = new DataView(hash.buffer)
  let nonce = 0
  let periods = 0

  function zerosOf(number: string): number {
    const { written } = encoder.encodeInto(number, digits)
    prefix._cloneInto(hasher).update(digits.subarray(0, written)).digestInto(hash)
    return leadingZeros(view)
  }

  function work(): void {
    const until = performance.now() + WORK_MS
    do {
      for (const end = nonce + HASHES_PER_ROUND; nonce < end; nonce++) {
        if (zerosOf(String(nonce)) >= data.bits) return post({ answer: String(nonce) })
      }
    } while (performance.now() < until)
    if (++periods % PERIODS_PER_REPORT === 0) post({ tries: nonce })
    setTimeout(work, PAUSE_MS)
  }
  work()
}

/** Number of leading zero bits of a hash. */
function leadingZeros(hash: DataView): number {
  let zeros = 0
  for (let at = 0; at < hash.byteLength && zeros === 8 * at; at += 4) zeros += Math.clz32(hash.getUint32(at))
  return zeros
}

function post(message: WorkMessage): void {
  self.postMessage(message)
}
