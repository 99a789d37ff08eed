/** Widths of the two forms of an uploaded picture, in pixels; narrower pictures are not enlarged. */
const SMALL = 400
const LARGE = 1600

/** The small form of an uploaded picture. Pictures of the page itself have no small form. */
export function smallOf(url: string): string {
  return url.replace(/^(\/images\/[0-9a-f]{64})\.(jpg|png)$/, '$1.small.$2')
}

/** Both forms for `srcset`; undefined if only one exists. */
export function formsOf(url: string): string | undefined {
  const small = smallOf(url)
  return small === url ? undefined : `${small} ${String(SMALL)}w, ${url} ${String(LARGE)}w`
}
