/**
 * Removes white space and invisible characters around typed text, and replaces each run of white space by one blank,
 * because the server rejects line breaks.
 */
export function oneLine(text: string): string {
  return text.replace(/^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu, '').replace(/\s+/g, ' ')
}
