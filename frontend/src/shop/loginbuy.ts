import { watch } from 'vue'
import { useNames } from '../composables/useNames'
import { useAccountSheet } from '../stores/accountsheet'
import { useLive } from '../stores/live'
import { useSession } from '../stores/session'
import { useWords } from '../words'

/** A buy that requires a login: it opens the account sheet, and the buy continues after the login. */
export function openLoginBuy(buy: (sale: string, qty: number) => void) {
  const live = useLive()
  const session = useSession()
  const sheet = useAccountSheet()
  const names = useNames()
  const words = useWords()
  let requested: { sale: string; qty: number } | undefined

  function logInAndBuy(sale: string, qty: number): void {
    requested = { sale, qty }
    sheet.show('login', words.value.account.thenBuy(names.ofSale(sale)))
  }

  watch(
    () => live.ready,
    (ready) => {
      if (ready && requested) buy(requested.sale, requested.qty)
      if (ready) requested = undefined
    },
  )
  // A login closes the sheet before its connection is ready. If the shopper closes the sheet, nothing is bought.
  watch(
    () => sheet.isOpen,
    (isOpen) => {
      if (!isOpen && !session.token) requested = undefined
    },
  )

  return { logInAndBuy }
}
