import { defineStore } from 'pinia'
import { ref } from 'vue'
import { asReadonly } from './readonly'

/** What the account sheet shows: before the log in, by a link of a mail, and of one's own account. */
export type AccountView =
  | 'login'
  | 'register'
  | 'sent'
  | 'forgot'
  | 'activate'
  | 'reset'
  | 'home'
  | 'profile'
  | 'password'
  | 'devices'
  | 'addresses'
  | 'data'
  | 'erase'

/** Which mail is on its way: to activate, once more to activate, or to choose a new password. */
export type SentMail = 'activate' | 'again' | 'reset'

/** The one sheet in which everything about an account happens, and what its views hand on to each other. */
export const useAccountSheet = defineStore('accountsheet', () => {
  const isOpen = ref(false)
  const view = ref<AccountView>('login')
  /** The e-mail address that was typed last, for the next form. */
  const email = ref('')
  const sent = ref<SentMail>('activate')
  /** The token of a link; never kept anywhere else. */
  const token = ref('')
  /** What has just become of something, above the next form. */
  const note = ref('')

  function show(wanted: AccountView, told = ''): void {
    view.value = wanted
    note.value = told
    isOpen.value = true
  }

  function followLink(kind: 'activate' | 'reset', secret: string): void {
    token.value = secret
    show(kind)
  }

  function mailIsOut(which: SentMail, to: string): void {
    sent.value = which
    email.value = to
    show('sent')
  }

  /** Nothing that was typed stays. */
  function close(): void {
    isOpen.value = false
    token.value = note.value = email.value = ''
  }

  return {
    isOpen: asReadonly(isOpen),
    view: asReadonly(view),
    email: asReadonly(email),
    sent: asReadonly(sent),
    token: asReadonly(token),
    note: asReadonly(note),
    remember: (typed: string) => (email.value = typed),
    show,
    followLink,
    mailIsOut,
    close,
  }
})
