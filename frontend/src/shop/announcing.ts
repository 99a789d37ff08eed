import { watch } from 'vue'
import type { ServerEvent } from '../protocol/types'
import { useLive } from '../stores/live'
import { ANNOUNCED, useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { useTimer } from '../timers'

type Notice = Extract<ServerEvent, { ev: 'notice' }>

/**
 * What an operator tells everybody: one notice at a time, until it ends, is taken back or was read. It is told again with
 * every connection, so one that was read does not come back. It is told in the shopper's language, if the shop has it in
 * that.
 */
export function openAnnouncing() {
  const live = useLive()
  const notices = useNotices()
  const end = useTimer()
  const preferences = usePreferences()
  /** What was read, in every language that it was said in. */
  let read = new Set<string>()
  let newest: Notice | undefined

  function hear(notice: Notice): void {
    newest = notice
    const { level, texts, until } = notice
    const { lang } = preferences
    const text = (Object.hasOwn(texts, lang) ? texts[lang] : undefined) ?? notice.text
    end.stop()
    const left = until === undefined ? Infinity : until - live.instant()
    if (text === '' || left <= 0) return notices.withdraw(ANNOUNCED)
    if (read.has(text)) return
    notices.stand(ANNOUNCED, level === 'warning' ? 'warn' : level, text, () => {
      read = new Set([notice.text, ...Object.values(texts)])
    })
    if (until !== undefined) end.start(left, () => notices.withdraw(ANNOUNCED))
  }

  watch(
    () => preferences.lang,
    () => newest && hear(newest),
    { flush: 'sync' },
  )

  return { hear }
}
