// @vitest-environment happy-dom
import { nextTick } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { clockTime } from '../format/countdown'
import { sale } from '../testing/samples'
import { freshStores } from './define'
import { useLive } from './live'
import { useNotices } from './notices'
import { usePreferences } from './preferences'
import { useReminders } from './reminders'
import { useSales } from './sales'

const showNotification = vi.fn<(title: string, options: NotificationOptions) => Promise<void>>()
const constructed = vi.fn()
let permission: NotificationPermission
let registration: object | undefined
let opensAt: number

beforeEach(() => {
  vi.resetAllMocks()
  freshStores()
  usePreferences().setLang('en')
  permission = 'granted'
  registration = { showNotification }
  const requestPermission = () => Promise.resolve(permission)
  vi.stubGlobal('Notification', Object.assign(constructed, { requestPermission }))
  const serviceWorker = { getRegistration: () => Promise.resolve(registration) }
  Object.defineProperty(navigator, 'serviceWorker', { configurable: true, value: serviceWorker })
  opensAt = Date.now() + 10_000
  useSales().change(sale({ opens_at: opensAt }))
})

afterEach(() => vi.unstubAllGlobals())

const notices = (): string[] => useNotices().notices.map(({ text }) => text)

describe('a reminder', () => {
  it('is shown by the service worker, with the time of the opening', async () => {
    await useReminders().add('11')
    expect(notices()).toEqual([expect.stringMatching(/notifies you/)])
    await vi.waitFor(() => expect(showNotification).toHaveBeenCalledOnce())
    const body = `The sale opens at ${clockTime(opensAt, 'en')}.`
    expect(showNotification).toHaveBeenCalledWith('Kettle', { body, tag: '11' })
    expect(constructed).not.toHaveBeenCalled()
  })

  it('is shown by the page without a service worker', async () => {
    registration = undefined
    await useReminders().add('11')
    await vi.waitFor(() => expect(constructed).toHaveBeenCalledWith('Kettle', expect.anything()))
  })

  it('stays wanted after a failure', async () => {
    const warning = vi.spyOn(console, 'warn').mockReturnValue()
    showNotification.mockRejectedValueOnce(new TypeError('no permission'))
    await useReminders().add('11')
    await vi.waitFor(() => expect(warning).toHaveBeenCalledOnce())
    useSales().change(sale({ id: '12', opens_at: opensAt }))
    await useReminders().add('12')
    await vi.waitFor(() => expect(showNotification.mock.calls.map(([, { tag }]) => tag)).toContain('12'))
    expect(showNotification.mock.calls.filter(([, { tag }]) => tag === '11')).toHaveLength(2)
  })

  it('needs the permission', async () => {
    permission = 'denied'
    await useReminders().add('11')
    useLive().refresh()
    await nextTick()
    expect(notices()).toEqual([expect.stringMatching(/not permitted/)])
    expect(showNotification).not.toHaveBeenCalled()
  })
})
