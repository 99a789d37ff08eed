import { Refused } from '../live/ops'
import {
  parseActivated,
  parseAddresses,
  parseCaptcha,
  parseDevices,
  parseProfile,
  parseSavedAddress,
  type Captcha,
  type Device,
  type Profile,
  type SavedAddress,
} from '../protocol/account'
import type { Address } from '../protocol/types'
import { keep } from '../storage'
import { useSession } from '../stores/session'
import { callServer } from './http'
import { parseSession, type Session } from './token'

/** Stored if the guest of this browser created an account: the guest's orders belong to the account. */
export const REGISTERED = 'registered'

export interface CaptchaSolution {
  id: string
  answer: string
}

export interface Registration {
  email: string
  password: string
  name?: string
  lang: string
  captcha: CaptchaSolution
}

export interface Credentials {
  email: string
  password: string
  captcha?: CaptchaSolution
  device: string
}

/** The account routes. Each rejects with Refused, with Lost, or with Malformed if the response cannot be parsed. */
export function useAccountClient() {
  const session = useSession()

  /** Calls a route with the current access token. If the server rejects the token, renews it and retries once. */
  async function mine(method: string, path: string, body?: unknown): Promise<unknown> {
    if (!session.usable()) await session.renew()
    try {
      return await callServer(method, path, { body, token: session.token })
    } catch (error) {
      const stale = error instanceof Refused && error.refusal.code === 'unauthorized'
      if (!stale || !(await session.renew())) throw error
      return callServer(method, path, { body, token: session.token })
    }
  }

  /**
   * Like `mine`, for routes that need a password. There `unauthorized` means a wrong password, so no retry follows: it
   * would use up an attempt.
   */
  async function proven(path: string, body: unknown): Promise<void> {
    if (!session.usable()) await session.renew()
    await callServer('POST', path, { body, token: session.token })
  }

  return {
    captcha: async (): Promise<Captcha> => parseCaptcha(await callServer('GET', '/auth/captcha')),
    /**
     * With a guest's token, the first login with the same guest's token keeps the guest's id, and therefore the orders.
     */
    register: async (fields: Registration): Promise<void> => {
      const token = session.isAccount ? undefined : session.token
      await callServer('POST', '/auth/register', { body: fields, token })
      if (token) keep(REGISTERED, session.user?.id)
    },
    activate: async (token: string, password: string): Promise<string> =>
      parseActivated(await callServer('POST', '/auth/activate', { body: { token, password } })),
    unregister: async (token: string): Promise<void> => {
      await callServer('POST', '/auth/unregister', { body: { token } })
    },
    login: async (credentials: Credentials): Promise<Session> => {
      const token = session.isAccount ? undefined : session.token
      const response = await callServer('POST', '/auth/login', { body: credentials, token, byCookie: true })
      return { ...parseSession(response), account: true }
    },
    /** Uses the cookie, which outlives the access token. */
    logout: async (everywhere: boolean): Promise<void> => {
      await callServer('POST', '/auth/logout', { body: everywhere ? { everywhere } : {}, byCookie: true })
    },
    forgot: async (email: string, captcha: CaptchaSolution): Promise<void> => {
      await callServer('POST', '/auth/forgot', { body: { email, captcha } })
    },
    reset: async (token: string, password: string): Promise<void> => {
      await callServer('POST', '/auth/reset', { body: { token, password } })
    },
    profile: async (): Promise<Profile> => parseProfile(await mine('GET', '/me')),
    change: async (fields: { name?: string; lang?: string }): Promise<Profile> =>
      parseProfile(await mine('PATCH', '/me', fields)),
    changePassword: (old: string, fresh: string) => proven('/me/password', { old, new: fresh }),
    erase: (password: string) => proven('/me/delete', { password }),
    devices: async (): Promise<Device[]> => parseDevices(await mine('GET', '/me/devices')),
    signOutDevice: async (id: string): Promise<void> => {
      await mine('DELETE', `/me/devices/${id}`)
    },
    /** Confirms a shipped order; idempotent. */
    confirmReceipt: async (order: string): Promise<void> => {
      await mine('POST', `/orders/${order}/receipt`)
    },
    everything: (): Promise<unknown> => mine('GET', '/me/export'),
    addresses: async (): Promise<SavedAddress[]> => parseAddresses(await mine('GET', '/me/addresses')),
    addAddress: async (address: Address & { default?: boolean }): Promise<SavedAddress> =>
      parseSavedAddress(await mine('POST', '/me/addresses', address)),
    changeAddress: async (id: string, address: Address & { default?: boolean }): Promise<SavedAddress> =>
      parseSavedAddress(await mine('PUT', `/me/addresses/${id}`, address)),
    removeAddress: async (id: string): Promise<void> => {
      await mine('DELETE', `/me/addresses/${id}`)
    },
  }
}

export type AccountClient = ReturnType<typeof useAccountClient>
