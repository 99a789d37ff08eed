/** Replaces line breaks in typed text, because the server stores none. */
export function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}
