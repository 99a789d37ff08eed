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
import { parseOrderDetails, type OrderDetails } from '../protocol/orderdetails'
import type { Address } from '../protocol/types'
import { writeStored } from '../storage'
import { useSession } from '../stores/session'
import { callServer } from './http'
import { parseSession, type Session } from './token'

/** The storage name of the id of the guest who created an account. The orders of this guest belong to the account. */
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
  async function callAsUser(method: string, path: string, body?: unknown): Promise<unknown> {
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
   * Like callAsUser, for routes that need a password. In these routes `unauthorized` means a wrong password. A retry
   * would use up an attempt, so none follows.
   */
  async function callWithPassword(path: string, body: unknown): Promise<void> {
    if (!session.usable()) await session.renew()
    await callServer('POST', path, { body, token: session.token })
  }

  return {
    captcha: async (): Promise<Captcha> => parseCaptcha(await callServer('GET', '/auth/captcha')),
    /**
     * Creates an account. If a guest registers and first logs in with the token of the same guest, the account keeps
     * the id and the orders of the guest.
     */
    register: async (fields: Registration): Promise<void> => {
      const token = session.isAccount ? undefined : session.token
      await callServer('POST', '/auth/register', { body: fields, token })
      if (token) writeStored(REGISTERED, session.user?.id)
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
    profile: async (): Promise<Profile> => parseProfile(await callAsUser('GET', '/me')),
    change: async (fields: { name?: string; lang?: string }): Promise<Profile> =>
      parseProfile(await callAsUser('PATCH', '/me', fields)),
    changePassword: (old: string, newPassword: string) =>
      callWithPassword('/me/password', { old, new: newPassword }),
    erase: (password: string) => callWithPassword('/me/delete', { password }),
    devices: async (): Promise<Device[]> => parseDevices(await callAsUser('GET', '/me/devices')),
    signOutDevice: async (id: string): Promise<void> => {
      await callAsUser('DELETE', `/me/devices/${id}`)
    },
    /** An order of the shopper, with its history. */
    order: async (id: string): Promise<OrderDetails> =>
      parseOrderDetails(await callAsUser('GET', `/orders/${id}`)),
    /** Confirms a shipped order; idempotent. */
    confirmReceipt: async (order: string): Promise<void> => {
      await callAsUser('POST', `/orders/${order}/receipt`)
    },
    exportData: (): Promise<unknown> => callAsUser('GET', '/me/export'),
    addresses: async (): Promise<SavedAddress[]> => parseAddresses(await callAsUser('GET', '/me/addresses')),
    addAddress: async (address: Address & { default?: boolean }): Promise<SavedAddress> =>
      parseSavedAddress(await callAsUser('POST', '/me/addresses', address)),
    changeAddress: async (id: string, address: Address & { default?: boolean }): Promise<SavedAddress> =>
      parseSavedAddress(await callAsUser('PUT', `/me/addresses/${id}`, address)),
    removeAddress: async (id: string): Promise<void> => {
      await callAsUser('DELETE', `/me/addresses/${id}`)
    },
  }
}

export type AccountClient = ReturnType<typeof useAccountClient>
