import { correction, generate } from 'lean-qr/nano'

/** The required margin around a code, in modules. */
const QUIET_ZONE = 4

/** A QR code as a drawing: one path of its dark modules, on a square of `side` modules including the quiet zone. */
export interface QrDrawing {
  side: number
  path: string
}

/**
 * Draws a text as a QR code whose error correction tolerates some glare. Each run of dark modules in a row is one piece
 * of the path.
 */
export function drawQr(text: string): QrDrawing {
  const code = generate(text, { minCorrectionLevel: correction.M })
  let path = ''
  for (let y = 0; y < code.size; y++) {
    let x = 0
    while (x < code.size) {
      const from = x
      while (code.get(x, y)) x++
      if (x > from) path += run(from + QUIET_ZONE, y + QUIET_ZONE, x - from)
      x++
    }
  }
  return { side: code.size + 2 * QUIET_ZONE, path }
}

function run(x: number, y: number, length: number): string {
  return `M${String(x)} ${String(y)}h${String(length)}v1h-${String(length)}z`
}
