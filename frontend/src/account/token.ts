import { fields, Malformed } from '../protocol/fields'
import { parseUser } from '../protocol/parse'
import type { User } from '../protocol/types'

/** Who we are to the server. */
export interface Session {
  /** Empty for an account whose token this page has not asked for yet. */
  access: string
  user: User
  /** When the token ends, Unix milliseconds; 0 when the token does not say. */
  expires: number
  /** When it was made; 0 when the token does not say. */
  issued: number
  /** An account. Its token stays in memory: the browser's cookie gets a new one. */
  account?: true
}

/** Reads what a JWT says of itself, without checking it: only the server can. Undefined for anything else. */
function claims(token: string): Record<string, unknown> | undefined {
  const body = token.split('.')[1]
  if (!body) return undefined
  try {
    const bytes = Uint8Array.from(atob(body.replaceAll('-', '+').replaceAll('_', '/')), (c) =>
      c.charCodeAt(0),
    )
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** When the token was made and when it ends, Unix milliseconds; 0 when it does not say. */
function lifeOf(token: string): Pick<Session, 'issued' | 'expires'> {
  const said = claims(token)
  const millis = (value: unknown): number => (typeof value === 'number' ? value * 1000 : 0)
  return { issued: millis(said?.iat), expires: millis(said?.exp) }
}

/** Reads what the routes that sign somebody in answer. */
export function parseSession(value: unknown): Session {
  const { access, user } = fields(value, 'session')
  if (typeof access !== 'string' || access === '') throw new Malformed('access is not a text')
  return { access, user: parseUser(user), ...lifeOf(access) }
}

/** What of a session outlives the page: of an account who it is, and no token. */
export function keepable({ access, user, account }: Session): unknown {
  return account ? { user, account } : { access, user }
}

/** Reads what outlived the page. */
export function parseKept(value: unknown): Session {
  const { user, account } = fields(value, 'session')
  return account === true
    ? { access: '', user: parseUser(user), expires: 0, issued: 0, account }
    : parseSession(value)
}

/** Makes a session of a token that somebody pasted; undefined when it is no token that names a user. */
export function sessionOf(token: string): Session | undefined {
  const access = token.trim()
  const said = claims(access)
  if (typeof said?.sub !== 'string' || !/^\d{1,19}$/.test(said.sub)) return undefined
  return {
    access,
    user: { id: said.sub, name: typeof said.name === 'string' ? said.name : '' },
    ...lifeOf(access),
  }
}
