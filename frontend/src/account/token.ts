import * as v from 'valibot'
import { object, parse, text } from '../protocol/fields'
import { user } from '../protocol/parse'
import type { LoggedIn, User } from '../protocol/types'

/** The current user and the access token. */
export interface Session {
  /** Empty for an account until its first access token arrives. */
  access: string
  user: User
  /** The expiry of the token, Unix milliseconds; 0 if the token has no expiry. */
  expires: number
  /** The time of issue, Unix milliseconds; 0 if the token does not contain it. */
  issued: number
  /** Set for an account. Its access token is only in memory; the page gets a new one with the cookie. */
  account?: true
}

/**
 * Reads the claims of a JWT. Only the server can verify the signature. Returns undefined if the string is not a JWT.
 */
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

/** The times of issue and expiry of a token, Unix milliseconds; 0 if absent. */
function timesOf(token: string): Pick<Session, 'issued' | 'expires'> {
  const payload = claims(token)
  const millis = (value: unknown): number => (typeof value === 'number' ? value * 1000 : 0)
  return { issued: millis(payload?.iat), expires: millis(payload?.exp) }
}

const loggedIn = object<LoggedIn>({ access: v.pipe(text, v.regex(/./)), user })
const storedAccount = object<Required<Pick<Session, 'user' | 'account'>>>({ user, account: v.literal(true) })

/** Parses the response of the login routes. */
export function parseSession(value: unknown): Session {
  const session = parse(loggedIn, value)
  return { ...session, ...timesOf(session.access) }
}

/** The part of a session that is stored: for an account only the user, without a token. */
export function storedPart({ access, user, account }: Session): unknown {
  return account ? { user, account } : { access, user }
}

/** Parses a stored session. */
export function parseStored(value: unknown): Session {
  const { success, output } = v.safeParse(storedAccount, value)
  return success ? { access: '', expires: 0, issued: 0, ...output } : parseSession(value)
}
