import { effectScope, watch } from 'vue'
import { repeated } from '../lazy'
import type { LiveSocket } from '../live/socket'
import { usePasses } from '../stores/passes'
import { useSales } from '../stores/sales'
import { useSession } from '../stores/session'
import type { Passing } from './passing'

/**
 * Passing, which is loaded when the page shows a sale that requires a pass, or a buy or the shopper needs one. Calls
 * wait until it is loaded.
 */
export function openLazyPassing(socket: LiveSocket): Passing {
  const passes = usePasses()
  const sales = useSales()
  const session = useSession()
  const scope = effectScope() // stops with the shop
  let loaded: Promise<Passing> | undefined

  function load(): Promise<Passing> {
    loaded ??= repeated(() => import('./passing')).then(
      ({ openPassing }) => scope.run(() => openPassing(socket)) ?? new Promise(() => undefined),
    )
    return loaded
  }

  watch(
    () => [...passes.visible].some((id) => sales.byId.get(id)?.pass),
    (required) => required && void load(),
  )
  watch(() => session.user?.id, passes.clear)

  return {
    obtain: async (sale) => (await load()).obtain(sale),
    getReady: async (sale) => (await load()).getReady(sale),
    challenge: {
      answer: (text) => void load().then(({ challenge }) => challenge.answer(text)),
      other: () => void load().then(({ challenge }) => challenge.other()),
      giveUp: () => void load().then(({ challenge }) => challenge.giveUp()),
    },
  }
}
