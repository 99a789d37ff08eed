import { Refused } from '../src/live/ops'
import { useSession } from '../src/stores/session'
import { askApi, type Question } from './http'

/** Calls the API with the current access token. If the server rejects the token, renews it and retries once. */
export function useAsking() {
  const session = useSession()

  /** Runs a request that needs a token. */
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
