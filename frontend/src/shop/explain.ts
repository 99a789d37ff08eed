import { Lost, Refused } from '../live/ops'
import { blockedBy } from '../protocol/blocked'
import { useLive } from '../stores/live'
import { useNotices } from '../stores/notices'
import { useWords } from '../words'

/** The subject of the lost-connection message. */
export const LOST = 'connection'

/** Returns a function that shows a rejection or a lost connection to the shopper. Other errors are thrown again. */
export function useExplain(): (error: unknown) => void {
  const live = useLive()
  const notices = useNotices()
  const words = useWords()
  return (error) => {
    const blocked = blockedBy(error)
    if (blocked) notices.post('warn', words.value.live.blocked[blocked])
    else if (error instanceof Refused) notices.post('warn', words.value.errors[error.refusal.code])
    else if (error instanceof Lost && live.isLive) notices.post('warn', words.value.live.unanswered)
    // Withdrawn when the page is connected again.
    else if (error instanceof Lost) notices.pin(LOST, 'warn', words.value.live.lost)
    else throw error
  }
}
