import { computed, watch } from 'vue'
import { clockTime } from '../format/countdown'
import { useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { usePresses, type StoredPress } from '../stores/presses'
import { useSales } from '../stores/sales'
import { useWords } from '../words'

/**
 * Shows the outcome of each buy attempt, or that it is pending. The card of a displayed sale shows pending and rejected
 * attempts itself; this shows the others, and those of sales that are not displayed.
 */
export function openOutcomes(): void {
  const presses = usePresses()
  const sales = useSales()
  const notices = useNotices()
  const preferences = usePreferences()
  const words = useWords()

  const isOnCard = ({ ending, sale }: StoredPress): boolean =>
    (!ending || ending.kind === 'refused') && (sales.shown?.some(({ id }) => id === sale) ?? false)
  const told = computed(() => presses.kept.filter((press) => !isOnCard(press)))
  const texts = computed(
    () => new Map(told.value.map((press) => [`press.${press.key}`, { press, text: sentence(press) }])),
  )

  function sentence({ ending, product, pressedAt }: StoredPress): string {
    const w = words.value.presses
    const time = clockTime(pressedAt, preferences.lang)
    switch (ending?.kind) {
      case undefined:
        return w.asking(product, time)
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
      for (const [about, { press, text }] of now) {
        const { ending, key } = press
        // A pending attempt has no outcome to dismiss: its message is replaced by the outcome.
        notices.stand(about, ending?.kind === 'ordered' ? 'info' : 'warn', text, () => {
          if (ending) presses.forget(key)
        })
      }
    },
    { immediate: true },
  )
}
