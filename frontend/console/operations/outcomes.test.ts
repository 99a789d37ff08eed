// @vitest-environment happy-dom
import { createApp, nextTick, type App } from 'vue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { freshStores } from '../../src/stores/define'
import OutcomeBar from './OutcomeBar.vue'
import { useOutcomes } from './outcomes'

let app: App
let host: HTMLElement

beforeEach(() => {
  freshStores()
  host = document.createElement('div')
  app = createApp(OutcomeBar)
  app.mount(host)
})

afterEach(() => app.unmount())

describe('the outcome bar', () => {
  it('offers the inverse operation once', async () => {
    const outcomes = useOutcomes()
    const send = vi.fn((key: string) => Promise.resolve(key))
    outcomes.show('Kettle is paused.', { label: 'Resume', send, doneText: 'Kettle is resumed.' })
    await nextTick()
    const button = host.querySelector('button')
    expect(button?.textContent).toContain('Resume')
    button?.click()
    await vi.waitFor(() => expect(host.textContent).toContain('Kettle is resumed.'))
    expect(send).toHaveBeenCalledOnce()
    expect(outcomes.count).toBe(2)
    expect(host.textContent).not.toContain('Resume')
  })
})
