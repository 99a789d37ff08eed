import { computed, watch } from 'vue'
import { useNames } from '../composables/useNames'
import { clockTime } from '../format/countdown'
import { useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { useAttempts, type StoredAttempt } from '../stores/attempts'
import { useDetails } from '../stores/details'
import { useWords } from '../words'

/**
 * Shows a message for each buy attempt with its outcome, or that the attempt is pending. The card of a displayed sale
 * shows its pending and rejected attempts itself, so these get no message.
 */
export function openOutcomes(): void {
  const attempts = useAttempts()
  const details = useDetails()
  const notices = useNotices()
  const preferences = usePreferences()
  const names = useNames()
  const words = useWords()

  const isOnCard = ({ ending, sale }: StoredAttempt): boolean =>
    (!ending || ending.kind === 'refused') && details.isShown(sale)
  const elsewhere = computed(() => attempts.all.filter((attempt) => !isOnCard(attempt)))
  const texts = computed(
    () =>
      new Map(
        elsewhere.value.map((attempt) => [`press.${attempt.key}`, { attempt, text: sentence(attempt) }]),
      ),
  )

  function sentence({ ending, sale, product: own, pressedAt }: StoredAttempt): string {
    const product = names.ofSale(sale, own)
    const w = words.value.attempts
    const time = clockTime(pressedAt, preferences.lang)
    switch (ending?.kind) {
      case undefined:
        return w.pending(product, time)
      case 'refused':
        return w.refused(product, time, words.value.errors[ending.code])
      case 'ordered':
        return w.ordered(product, time)
      case 'undone':
        return w.undone(product, words.value.orders.reasons[ending.reason] ?? ending.reason)
      case 'late':
        return w.late(product, time)
      case 'foreign':
        return w.foreign(product, time)
    }
  }

  watch(
    texts,
    (now, before) => {
      for (const about of before?.keys() ?? []) if (!now.has(about)) notices.withdraw(about)
      for (const [about, { attempt, text }] of now) {
        const { ending, key } = attempt
        // A pending attempt has no outcome to dismiss: its message is replaced by the outcome.
        notices.pin(about, ending?.kind === 'ordered' ? 'info' : 'warn', text, () => {
          if (ending) attempts.remove(key)
        })
      }
    },
    { immediate: true },
  )
}
