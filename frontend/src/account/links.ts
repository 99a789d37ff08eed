/** A link that the shop has sent by mail. */
export interface MailLink {
  kind: 'activate' | 'reset'
  token: string
}

/**
 * The link by which the shopper came. Its token goes out of the address bar and the history at once, before anything
 * is asked for: who reads over the shoulder, or goes back later, must not find it.
 */
export function takeLink(): MailLink | undefined {
  const query = new URLSearchParams(window.location.search)
  const found = (['activate', 'reset'] as const).flatMap((kind) => {
    const token = query.get(kind)
    return token === null ? [] : [{ kind, token }]
  })
  if (found.length === 0) return undefined
  window.history.replaceState(null, '', window.location.pathname)
  return found[0]
}
