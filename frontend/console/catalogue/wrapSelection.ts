/** Puts the selected text between two tags. Returns the new text and the new selection. */
export function wrapSelection(
  text: string,
  from: number,
  to: number,
  before: string,
  after: string,
): { text: string; from: number; to: number } {
  const chosen = text.slice(from, to)
  return {
    text: text.slice(0, from) + before + chosen + after + text.slice(to),
    from: from + before.length,
    to: from + before.length + chosen.length,
  }
}
