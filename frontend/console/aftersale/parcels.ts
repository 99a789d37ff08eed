/** Limits of the server for the parcel number and the carrier name. */
export const MAX_CARRIER_LENGTH = 24
export const MAX_TRACKING_LENGTH = 39
const TRACKING = /^[\w./-]+$/

export function isTracking(text: string): boolean {
  return text.length <= MAX_TRACKING_LENGTH && TRACKING.test(text)
}

export function isCarrier(text: string): boolean {
  return text !== '' && [...text].length <= MAX_CARRIER_LENGTH
}

/** Bytes. An operator request may have 512 KB; JSON needs a part of it for escapes of line breaks and quotes. */
export const MAX_FILE_BYTES = 480_000

/** Reads a chosen file; undefined if it is not text. */
export async function textOf(file: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    return undefined
  }
}
