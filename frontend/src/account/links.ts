/** A link from an e-mail of the shop. */
export interface MailLink {
  kind: 'activate' | 'reset'
  token: string
}

/**
 * Returns the link with which the page was opened, if it is from an e-mail. The token is in the fragment, which
 * browsers do not send; e-mails of older versions have it in the query. The token is removed from the address bar and
 * the history before any request.
 */
export function takeLink(): MailLink | undefined {
  const query = new URLSearchParams(window.location.hash.slice(1) || window.location.search)
  const found = (['activate', 'reset'] as const).flatMap((kind) => {
    const token = query.get(kind)
    return token === null ? [] : [{ kind, token }]
  })
  if (found.length === 0) return undefined
  window.history.replaceState(null, '', window.location.pathname)
  return found[0]
}
