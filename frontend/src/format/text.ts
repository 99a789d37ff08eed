/**
 * Removes blanks and invisible characters around typed text, as the server does, and replaces line breaks, because the
 * server stores none.
 */
export function oneLine(text: string): string {
  return text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '').replace(/\s+/g, ' ')
}
