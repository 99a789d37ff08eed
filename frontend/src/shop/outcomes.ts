import { computed, watch } from 'vue'
import { clockTime } from '../format/countdown'
import { useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { usePresses, type StoredPress } from '../stores/presses'
import { useSales } from '../stores/sales'
import { useWords } from '../words'

/**
 * Tells what became of each press, or that we still ask, wherever the shopper looks. The card of the sale tells a
 * refusal and a press under way by itself; this tells the rest, and those too once the card is out of sight.
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
        // What is still open has no outcome that could be read: it is told again when it has one.
        notices.stand(about, ending?.kind === 'ordered' ? 'info' : 'warn', text, () => {
          if (ending) presses.forget(key)
        })
      }
    },
    { immediate: true },
  )
}
