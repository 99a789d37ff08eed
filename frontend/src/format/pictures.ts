/** How wide both forms are of a picture that operators have uploaded, in pixels; narrower ones stay as they were. */
const SMALL = 400
const LARGE = 1600

/** The small form of a picture that was uploaded; one that comes with the page has none. */
export function smallOf(url: string): string {
  return url.replace(/^(\/images\/[0-9a-f]{64})\.(jpg|png)$/, '$1.small.$2')
}

/** Both forms for `srcset`, of which the browser takes what its window needs; nothing where there is one alone. */
export function formsOf(url: string): string | undefined {
  const small = smallOf(url)
  return small === url ? undefined : `${small} ${String(SMALL)}w, ${url} ${String(LARGE)}w`
}
