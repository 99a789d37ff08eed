import { deflateSync } from 'node:zlib'

/** The bitmap rows of each digit, three pixels wide. */
const ROWS = {
  0: [7, 5, 5, 5, 7],
  1: [2, 6, 2, 2, 7],
  2: [7, 1, 7, 4, 7],
  3: [7, 1, 7, 1, 7],
  4: [5, 5, 7, 1, 1],
  5: [7, 4, 7, 1, 7],
  6: [7, 4, 7, 5, 7],
  7: [7, 1, 1, 2, 2],
  8: [7, 5, 7, 5, 7],
  9: [7, 5, 7, 1, 7],
}
const WIDTH = 240
const HEIGHT = 80
const DOT = 8

/** A picture of some digits, 240 × 80, as a data URL. */
export function png(digits) {
  const lines = Array.from({ length: HEIGHT }, () => Buffer.alloc(WIDTH + 1, 255))
  lines.forEach((line) => (line[0] = 0))
  ;[...digits].forEach((digit, n) => {
    const lean = (n * 7) % 12
    ROWS[digit].forEach((bits, row) => {
      for (let column = 0; column < 3; column++) {
        if (!(bits & (4 >> column))) continue
        for (let y = 0; y < DOT; y++) {
          const line = lines[16 + lean + row * DOT + y]
          const from = 1 + 28 + n * 38 + column * DOT
          line.fill(40 + 20 * (n % 3), from, from + DOT)
        }
      }
    })
  })
  const head = Buffer.alloc(13)
  head.writeUInt32BE(WIDTH, 0)
  head.writeUInt32BE(HEIGHT, 4)
  head.set([8, 0, 0, 0, 0], 8)
  const parts = [
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return `data:image/png;base64,${Buffer.concat(parts).toString('base64')}`
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

function crc32(bytes) {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
