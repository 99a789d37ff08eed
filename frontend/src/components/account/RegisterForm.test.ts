// @vitest-environment happy-dom
import { createApp } from 'vue'
import { expect, it, vi } from 'vitest'
import { freshStores } from '../../stores/define'
import { usePreferences } from '../../stores/preferences'
import { useSession } from '../../stores/session'
import RegisterForm from './RegisterForm.vue'

vi.mock('../../account/client', () => ({
  useAccountClient: () => ({ captcha: () => new Promise(() => undefined) }),
}))

const signIn = (account: boolean): void =>
  useSession().logIn({
    access: 'a.b.c',
    user: { id: '7', name: 'Guest 7' },
    expires: 0,
    issued: 0,
    ...(account ? { account } : {}),
  })

it.each<[string, boolean, () => void]>([
  ['to a guest', true, () => signIn(false)],
  ['to a visitor without a user, such as in a shop without guests', false, () => undefined],
  ['with an account', false, () => signIn(true)],
  [
    'to a guest whose token the server rejects',
    false,
    () => {
      signIn(false)
      useSession().markRejected()
    },
  ],
])('the registration promises a purchase without an account %s: %s', (_, promised, prepare) => {
  localStorage.clear()
  freshStores()
  usePreferences().setLang('en')
  prepare()
  const place = document.createElement('div')
  const app = createApp(RegisterForm)
  app.mount(place)
  expect(place.textContent).toContain('you see your orders on any device')
  expect(/without an account/.test(place.textContent)).toBe(promised)
  app.unmount()
})
