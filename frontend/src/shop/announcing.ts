import { watch } from 'vue'
import type { ServerEvent } from '../protocol/types'
import { useLive } from '../stores/live'
import { ANNOUNCED, useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { useTimer } from '../timers'

type Notice = Extract<ServerEvent, { ev: 'notice' }>

/**
 * Shows the operators' banner until it ends, is withdrawn or is dismissed. The server sends the banner on every
 * connection, but a dismissed banner is not shown again. The text is in the shopper's language if the banner has it.
 */
export function openAnnouncing() {
  const live = useLive()
  const notices = useNotices()
  const end = useTimer()
  const preferences = usePreferences()
  /** The texts of the dismissed banner, in all languages. */
  let dismissedTexts = new Set<string>()
  let newest: Notice | undefined

  function receive(notice: Notice): void {
    newest = notice
    const { level, texts, until } = notice
    const { lang } = preferences
    const text = (Object.hasOwn(texts, lang) ? texts[lang] : undefined) ?? notice.text
    end.stop()
    const left = until === undefined ? Infinity : until - live.instant()
    if (text === '' || left <= 0) return notices.withdraw(ANNOUNCED)
    if (dismissedTexts.has(text)) return
    notices.pin(ANNOUNCED, level === 'warning' ? 'warn' : level, text, () => {
      dismissedTexts = new Set([notice.text, ...Object.values(texts)])
    })
    if (until !== undefined) end.start(left, () => notices.withdraw(ANNOUNCED))
  }

  watch(
    () => preferences.lang,
    () => newest && receive(newest),
    { flush: 'sync' },
  )

  return { receive }
}
