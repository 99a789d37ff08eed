import { Refused } from '../src/live/ops'
import { useSession } from '../src/stores/session'
import { askApi, type Question } from './http'

/** Asks the API as who we are: with a token that still lives; one that was not taken is renewed, once. */
export function useAsking() {
  const session = useSession()

  /** Does something that takes a token. */
  async function signed<T>(send: (token: string | undefined) => Promise<T>): Promise<T> {
    if (!session.usable()) await session.renew()
    try {
      return await send(session.token)
    } catch (error) {
      const stale = error instanceof Refused && error.refusal.code === 'unauthorized'
      if (!stale) throw error
      session.doubt()
      if (!(await session.renew())) throw error
      return send(session.token)
    }
  }
  const ask = (method: string, path: string, question: Question = {}): Promise<unknown> =>
    signed((token) => askApi(method, path, { ...question, token }))
  const act = (key: string, method: string, path: string, body?: unknown): Promise<unknown> =>
    ask(method, `/operator${path}`, { key, body })

  return { signed, ask, act }
}
