import { getCurrentScope, watch } from 'vue'
import { useLive } from '../stores/live'
import { usePreferences } from '../stores/preferences'
import { useSession } from '../stores/session'

/**
 * Keeps the delivery address in sync with the current user. A change of the user removes the address. The address book
 * of an account is loaded, because another device may have changed it. A guest's book is loaded after a change of the
 * user, or when the guest opens it.
 */
export function openDelivery(): void {
  const live = useLive()
  const session = useSession()
  const preferences = usePreferences()
  /** The user whose book was loaded on this page. */
  let loadedFor: string | undefined
  let userChanged = false
  const scope = getCurrentScope()

  watch(
    () => session.user?.id,
    (now, before) => {
      if (before === undefined || now === before) return
      preferences.setAddress(undefined)
      userChanged = true
    },
  )
  watch(
    () => live.ready && session.user?.id,
    async (user) => {
      if (!user || user === loadedFor || !(session.isAccount || userChanged)) return
      loadedFor = user
      try {
        const { useAddresses } = await import('../account/addresses')
        if (scope?.active === false) return
        await useAddresses().load()
      } catch (error) {
        console.warn('the address book cannot be read:', error)
        loadedFor = undefined
      }
    },
  )
}
