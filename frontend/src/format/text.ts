/** What somebody typed, without line breaks: the server stores none. */
export function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}
