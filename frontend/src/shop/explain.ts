import { Lost, Refused } from '../live/ops'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useWords } from '../words'

/** What the notice of a lost connection is about. */
export const LOST = 'connection'

/** Tells the shopper why the shop did not do what was asked; what is no answer of the shop goes on as an error. */
export function useExplain(): (error: unknown) => void {
  const live = useLive()
  const notices = useNotices()
  const words = useWords()
  return (error) => {
    if (error instanceof Refused) notices.post('warn', words.value.errors[error.refusal.code])
    else if (error instanceof Lost && live.isLive) notices.post('warn', words.value.live.unanswered)
    // Withdrawn as soon as we are connected again.
    else if (error instanceof Lost) notices.stand(LOST, 'warn', words.value.live.lost)
    else throw error
  }
}
