/**
 * SHA-256 in plain TypeScript. WebCrypto only returns promises, which cost ten times the computation in a proof of
 * work. It is also unavailable on pages without HTTPS.
 */

const BLOCK = 64
/** The fractional parts of the square and cube roots of the first primes, 32 bits each. */
const primes = firstPrimes(64)
const K = Int32Array.from(primes, (p) => fraction(Math.cbrt(p)))
const START = Int32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)))
const W = new Int32Array(64)

function firstPrimes(count: number): number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) if (found.every((p) => n % p !== 0)) found.push(n)
  return found
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
}

/** Adds one block of 64 bytes to the state. */
function compress(state: Int32Array, bytes: Uint8Array, from: number): void {
  const w = W
  for (let i = 0; i < 16; i++) {
    const at = from + 4 * i
    w[i] =
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)
  }
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] as number
    const y = w[i - 2] as number
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    w[i] = ((w[i - 16] as number) + s0 + (w[i - 7] as number) + s1) | 0
  }
  // Separate variables: destructuring the array costs more than a round.
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (K[i] as number) + (w[i] as number)) | 0
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0] = ((state[0] as number) + a) | 0
  state[1] = ((state[1] as number) + b) | 0
  state[2] = ((state[2] as number) + c) | 0
  state[3] = ((state[3] as number) + d) | 0
  state[4] = ((state[4] as number) + e) | 0
  state[5] = ((state[5] as number) + f) | 0
  state[6] = ((state[6] as number) + g) | 0
  state[7] = ((state[7] as number) + h) | 0
}

/** Hashes texts with a common prefix, which is processed once. */
export class PrefixHasher {
  readonly #shared = START.slice()
  /** The incomplete block of the prefix, followed by the suffix and the padding. */
  readonly #tail: Uint8Array
  readonly #tailView: DataView
  readonly #tailLength: number
  readonly #length: number
  readonly #state = new Int32Array(8)

  constructor(prefix: string) {
    const bytes = new TextEncoder().encode(prefix)
    const whole = bytes.length - (bytes.length % BLOCK)
    for (let from = 0; from < whole; from += BLOCK) compress(this.#shared, bytes, from)
    this.#length = bytes.length
    this.#tailLength = bytes.length - whole
    this.#tail = new Uint8Array(2 * BLOCK)
    this.#tailView = new DataView(this.#tail.buffer)
    this.#tail.set(bytes.subarray(whole))
  }

  /**
   * The hash of the prefix and a suffix of at most 40 ASCII characters, as eight words. The next call overwrites the
   * result.
   */
  hash(suffix: string): Int32Array {
    const tail = this.#tail
    let at = this.#tailLength
    for (let i = 0; i < suffix.length; i++) tail[at++] = suffix.charCodeAt(i)
    tail[at++] = 0x80
    const size = at + 8 <= BLOCK ? BLOCK : 2 * BLOCK
    tail.fill(0, at, size)
    this.#tailView.setUint32(size - 4, (this.#length + suffix.length) * 8)
    this.#state.set(this.#shared)
    for (let from = 0; from < size; from += BLOCK) compress(this.#state, tail, from)
    return this.#state
  }
}

/** Number of leading zero bits of a hash. */
export function leadingZeros(hash: Int32Array): number {
  let zeros = 0
  for (const word of hash) {
    zeros += Math.clz32(word)
    if (word !== 0) break
  }
  return zeros
}
