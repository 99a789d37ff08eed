import { computed, ref, watch } from 'vue'
import { closeSheet, isSheetOpen, openSheet, router } from '../router'
import { defineStore } from './define'
import { asReadonly } from './readonly'

/** The views of the account, which require a login. */
const INSIDE = ['home', 'profile', 'password', 'devices', 'addresses', 'data', 'erase'] as const
/** The views before the login, and for a link from a mail. */
const OUTSIDE = ['login', 'register', 'sent', 'forgot', 'activate', 'reset'] as const

export type AccountView = (typeof INSIDE)[number] | (typeof OUTSIDE)[number]

/** The mail that was sent: activation, repeated activation, or password reset. */
export type SentMail = 'activate' | 'again' | 'reset'

/** The sheet for all account functions, and the values that its views share. Its route contains the view. */
export const useAccountSheet = defineStore('accountsheet', () => {
  const isOpen = computed(() => isSheetOpen('account'))
  /** The last entered e-mail address, for the next form. */
  const email = ref('')
  const sent = ref<SentMail>('activate')
  /** The token of a link; it is not stored anywhere else. */
  const token = ref('')
  /** A result message above the next form. */
  const note = ref('')
  /** The buy that continues after the login. */
  const purchase = ref<{ sale: string; qty: number }>()

  const view = computed<AccountView>(() => {
    const wanted =
      [...INSIDE, ...OUTSIDE].find((name) => name === router.currentRoute.value.params.view) ?? 'home'
    // After a reload, the values of these views are gone.
    const isLost = wanted === 'sent' ? !email.value : ['activate', 'reset'].includes(wanted) && !token.value
    return isLost ? 'home' : wanted
  })
  /** The view requires a login. */
  const isInside = computed(() => INSIDE.some((name) => name === view.value))

  function show(wanted: AccountView, message = ''): void {
    note.value = message
    openSheet('account', wanted === 'home' ? {} : { view: wanted })
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

  // Deletes everything that was typed.
  watch(isOpen, (open) => {
    if (open) return
    token.value = note.value = email.value = ''
    purchase.value = undefined
  })

  return {
    isOpen,
    view,
    isInside,
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
    close: () => closeSheet('account'),
  }
})
