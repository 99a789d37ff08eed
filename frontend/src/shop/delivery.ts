import { getCurrentScope, watch } from 'vue'
import { useLive } from '../stores/live'
import { usePreferences } from '../stores/preferences'
import { useSession } from '../stores/session'

/**
 * Keeps the address that goes along with orders that of whoever we are: it goes with its owner, and the book of an
 * account may have changed on another device. Guests open their book themselves.
 */
export function openDelivery(): void {
  const live = useLive()
  const session = useSession()
  const preferences = usePreferences()
  /** Whose book was asked for on this page. */
  let read: string | undefined
  let changed = false
  const scope = getCurrentScope()

  watch(
    () => session.user?.id,
    (now, before) => {
      if (before === undefined || now === before) return
      preferences.deliverTo(undefined)
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
