import { decodeQR } from 'qr/decode.js'
import { describe, expect, it } from 'vitest'
import { drawQr, type QrDrawing } from './qr'

const PX = 4

/** Paints a drawing black on white, as a browser does. */
function paint({ side, path }: QrDrawing) {
  const width = side * PX
  const data = new Uint8Array(width * width * 4).fill(255)
  for (const [piece, x, y, run, back] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-(\d+)z/g)) {
    if (run !== back) throw new Error(`not a run: ${piece}`)
    for (let row = Number(y) * PX; row < (Number(y) + 1) * PX; row++) {
      const from = (row * width + Number(x) * PX) * 4
      for (let at = from; at < from + Number(run) * PX * 4; at++) if (at % 4 !== 3) data[at] = 0
    }
  }
  return { width, height: width, data }
}

describe('a QR code', () => {
  it.each([
    ['short', 'https://qr.alipay.com/bax03431ljhokirwl38f00a7'],
    ['with a port', 'http://127.0.0.1:8091/qr/ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'],
    ['long', `https://pay.example/?${'long='.repeat(180)}`],
    ['not only ASCII', 'https://pay.example/?订单=1'],
  ])('decodes to its text: %s', (_, text) => {
    expect(decodeQR(paint(drawQr(text)))).toBe(text)
  })

  it('has a quiet zone of four modules on each side', () => {
    const { side, path } = drawQr('https://pay.example/')
    const runs = [...path.matchAll(/M(\d+) (\d+)h(\d+)/g)].map((run) => run.slice(1).map(Number))
    expect(Math.min(...runs.map(([x = 0]) => x))).toBe(4)
    expect(Math.min(...runs.map(([, y = 0]) => y))).toBe(4)
    expect(Math.max(...runs.map(([x = 0, , run = 0]) => x + run))).toBe(side - 4)
    expect(Math.max(...runs.map(([, y = 0]) => y + 1))).toBe(side - 4)
  })
})
