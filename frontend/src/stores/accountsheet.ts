import { ref } from 'vue'
import { defineStore } from './define'
import { asReadonly } from './readonly'

/** The views of the account sheet: before the login, for a link from a mail, and for the account. */
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

/** The mail that was sent: activation, repeated activation, or password reset. */
export type SentMail = 'activate' | 'again' | 'reset'

/** The sheet for all account functions, and the values that its views share. */
export const useAccountSheet = defineStore('accountsheet', () => {
  const isOpen = ref(false)
  const view = ref<AccountView>('login')
  /** The last entered e-mail address, for the next form. */
  const email = ref('')
  const sent = ref<SentMail>('activate')
  /** The token of a link; it is not stored anywhere else. */
  const token = ref('')
  /** A result message above the next form. */
  const note = ref('')
  /** The buy that continues after the login. */
  const purchase = ref<{ sale: string; qty: number }>()

  function show(wanted: AccountView, message = ''): void {
    view.value = wanted
    note.value = message
    isOpen.value = true
  }

  /** Opens the login for a buy, which continues after it. */
  function showForPurchase(sale: string, qty: number): void {
    purchase.value = { sale, qty }
    show('login')
  }

  function followLink(kind: 'activate' | 'reset', secret: string): void {
    token.value = secret
    show(kind)
  }

  function mailSent(which: SentMail, to: string): void {
    sent.value = which
    email.value = to
    show('sent')
  }

  /** Deletes everything that was typed. */
  function close(): void {
    isOpen.value = false
    token.value = note.value = email.value = ''
    purchase.value = undefined
  }

  return {
    isOpen: asReadonly(isOpen),
    view: asReadonly(view),
    email: asReadonly(email),
    sent: asReadonly(sent),
    token: asReadonly(token),
    note: asReadonly(note),
    purchase: asReadonly(purchase),
    remember: (typed: string) => (email.value = typed),
    show,
    showForPurchase,
    followLink,
    mailSent,
    close,
  }
})
