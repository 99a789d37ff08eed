import { Lost, Refused } from '../live/requests'
import { useNotices } from '../stores/notices'
import { useWords } from '../words'

/** Tells the shopper why the shop did not do what was asked; what is no answer of the shop goes on as an error. */
export function useExplain(): (error: unknown) => void {
  const notices = useNotices()
  const words = useWords()
  return (error) => {
    if (error instanceof Refused) notices.post('warn', words.value.errors[error.refusal.code])
    else if (error instanceof Lost) notices.post('warn', words.value.live.lost)
    else throw error
  }
}
