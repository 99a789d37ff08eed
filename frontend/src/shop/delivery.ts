import { getCurrentScope, watch } from 'vue'
import { useLive } from '../stores/live'
import { usePreferences } from '../stores/preferences'
import { useSession } from '../stores/session'

/**
 * Keeps the delivery address in sync with the current user: it changes with the user, and another device may have
 * changed the book of an account. Guests load their book themselves.
 */
export function openDelivery(): void {
  const live = useLive()
  const session = useSession()
  const preferences = usePreferences()
  /** The user whose book was loaded on this page. */
  let read: string | undefined
  let changed = false
  const scope = getCurrentScope()

  watch(
    () => session.user?.id,
    (now, before) => {
      if (before === undefined || now === before) return
      preferences.setAddress(undefined)
      changed = true
    },
  )
  watch(
    () => live.ready && session.user?.id,
    async (user) => {
      if (!user || user === read || !(session.isAccount || changed)) return
      read = user
      try {
        const { useAddresses } = await import('../account/addresses')
        if (scope?.active === false) return
        await useAddresses().read()
      } catch (error) {
        console.warn('the address book cannot be read:', error)
        read = undefined
      }
    },
  )
}
