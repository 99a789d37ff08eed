/** What the server takes as the number of a parcel, and as the name of who carries it. */
export const LONGEST_CARRIER = 24
export const LONGEST_TRACKING = 39
const TRACKING = /^[\w./-]+$/

export function isTracking(text: string): boolean {
  return text.length <= LONGEST_TRACKING && TRACKING.test(text)
}

export function isCarrier(text: string): boolean {
  return text !== '' && [...text].length <= LONGEST_CARRIER
}

/** A request of an operator may have 512 KB; JSON needs some of it for line breaks and quotes. */
export const LARGEST_FILE = 480_000

/** Reads a file that people chose; undefined when it is not text. */
export async function textOf(file: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    return undefined
  }
}
