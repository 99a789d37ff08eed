/** Limits of the server for the parcel number and the carrier name. */
export const LONGEST_CARRIER = 24
export const LONGEST_TRACKING = 39
const TRACKING = /^[\w./-]+$/

export function isTracking(text: string): boolean {
  return text.length <= LONGEST_TRACKING && TRACKING.test(text)
}

export function isCarrier(text: string): boolean {
  return text !== '' && [...text].length <= LONGEST_CARRIER
}

/** Bytes. An operator request may have 512 KB; JSON needs a part of it for escapes of line breaks and quotes. */
export const LARGEST_FILE = 480_000

/** Reads a chosen file; undefined if it is not text. */
export async function textOf(file: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    return undefined
  }
}
