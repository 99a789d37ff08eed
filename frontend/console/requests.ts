import { Refused } from '../src/live/ops'
import { useSession } from '../src/stores/session'
import { callApi, type RequestOptions } from './http'

/** Calls the API with the current access token. If the server rejects the token, renews it and retries once. */
export function useRequests() {
  const session = useSession()

  /** Runs a request that needs a token. */
  async function signed<T>(send: (token: string | undefined) => Promise<T>): Promise<T> {
    if (!session.usable()) await session.renew()
    try {
      return await send(session.token)
    } catch (error) {
      const stale = error instanceof Refused && error.refusal.code === 'unauthorized'
      if (!stale) throw error
      session.markRejected()
      if (!(await session.renew())) throw error
      return send(session.token)
    }
  }
  const request = (method: string, path: string, options: RequestOptions = {}): Promise<unknown> =>
    signed((token) => callApi(method, path, { ...options, token }))
  const operate = (key: string, method: string, path: string, body?: unknown): Promise<unknown> =>
    request(method, `/operator${path}`, { key, body })

  return { signed, request, operate }
}
