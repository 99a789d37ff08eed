// @vitest-environment happy-dom
import { effectScope, type EffectScope } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../stores/define'
import { useNotices } from '../stores/notices'
import { usePreferences } from '../stores/preferences'
import { openAnnouncing } from './announcing'

let scope: EffectScope
let receive: ReturnType<typeof openAnnouncing>['receive']
const shown = () => useNotices().notices.map(({ level, text }) => `${level}: ${text}`)
const notice = (
  text: string,
  over: { level?: string; until?: number; texts?: Record<string, string> } = {},
) => ({
  ev: 'notice' as const,
  level: 'info',
  text,
  texts: {},
  ...over,
})

beforeEach(() => {
  vi.useFakeTimers()
  freshStores()
  scope = effectScope(true)
  ;({ receive } = scope.run(openAnnouncing) as ReturnType<typeof openAnnouncing>)
})

afterEach(() => {
  scope.stop()
  vi.useRealTimers()
})

describe('an announcement', () => {
  it('shows only the newest notice', () => {
    receive(notice('More kettles at noon.'))
    receive(notice('No more kettles.', { level: 'warning' }))
    expect(shown()).toEqual(['warn: No more kettles.'])
  })

  it('disappears when it is withdrawn', () => {
    receive(notice('More kettles at noon.'))
    receive(notice(''))
    expect(shown()).toEqual([])
  })

  it('ends at its time', () => {
    receive(notice('More kettles at noon.', { until: Date.now() + 60_000 }))
    vi.advanceTimersByTime(59_000)
    expect(shown()).toHaveLength(1)
    vi.advanceTimersByTime(1_000)
    expect(shown()).toEqual([])
    receive(notice('Too late.', { until: Date.now() - 1 }))
    expect(shown()).toEqual([])
  })

  it("is shown in the shopper's language, otherwise in the default text", () => {
    usePreferences().setLang('zh')
    receive(notice('More kettles at noon.', { texts: { zh: '中午补货。', de: 'Mittags mehr.' } }))
    expect(shown()).toEqual(['info: 中午补货。'])
    usePreferences().setLang('en')
    expect(shown()).toEqual(['info: More kettles at noon.'])
    receive(notice('', { texts: { zh: '仅限中文读者。' } }))
    expect(shown()).toEqual([])
    usePreferences().setLang('zh')
    expect(shown()).toEqual(['info: 仅限中文读者。'])
  })

  it('is dismissed in all languages at once, and a new one is shown', () => {
    usePreferences().setLang('zh')
    receive(notice('More kettles at noon.', { texts: { zh: '中午补货。' } }))
    useNotices().dismiss(useNotices().notices[0]?.id ?? 0)
    usePreferences().setLang('en')
    receive(notice('More kettles at noon.', { texts: { zh: '中午补货。' } }))
    expect(shown()).toEqual([])
    usePreferences().setLang('zh')
    receive(notice('More kettles at noon.', { texts: { zh: '一点补货。' } }))
    expect(shown()).toEqual(['info: 一点补货。'])
  })

  it('does not reappear after a reconnect once dismissed, but a new one does', () => {
    receive(notice('More kettles at noon.'))
    const [first] = useNotices().notices
    useNotices().dismiss(first?.id ?? 0)
    receive(notice('More kettles at noon.'))
    expect(shown()).toEqual([])
    receive(notice('Another one.'))
    expect(shown()).toEqual(['info: Another one.'])
  })
})
