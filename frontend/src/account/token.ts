import { Malformed, parseUser } from '../protocol/parse'
import type { User } from '../protocol/types'

/** Who we are to the server. */
export interface Session {
  access: string
  user: User
  /** When the token ends, Unix milliseconds; 0 when the token does not say. */
  expires: number
  /** When it was made; 0 when the token does not say. */
  issued: number
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

/** Reads what the guest endpoint answers. */
export function parseSession(value: unknown): Session {
  if (typeof value !== 'object' || value === null) throw new Malformed('session is not an object')
  const { access, user } = value as Record<string, unknown>
  if (typeof access !== 'string' || access === '') throw new Malformed('access is not a text')
  return { access, user: parseUser(user), ...lifeOf(access) }
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
