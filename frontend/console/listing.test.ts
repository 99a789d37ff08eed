// @vitest-environment happy-dom
import { effectScope, nextTick, ref } from 'vue'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Refused } from '../src/live/ops'
import { freshStores } from '../src/stores/define'
import { useListing } from './listing'

let scope = effectScope(true)
beforeEach(() => {
  freshStores()
  scope = effectScope(true)
})
afterEach(() => scope.stop())

const settle = () => new Promise((resolve) => setTimeout(resolve))

describe('a list in pages', () => {
  it('loads the next page after its last item', async () => {
    const requests: (number | undefined)[] = []
    const list = scope.run(() =>
      useListing<number>([], (last) => {
        requests.push(last)
        return Promise.resolve({ items: last === undefined ? [9, 8] : [7], more: last === undefined })
      }),
    )
    await settle()
    await list?.loadMore()
    expect(requests).toEqual([undefined, 8])
    expect(list?.items.value).toEqual([9, 8, 7])
    expect(list?.more.value).toBe(false)
  })

  it('shows the response to the newest request, in any order of responses', async () => {
    const state = ref('a')
    const answers = new Map<string, () => void>()
    const list = scope.run(() =>
      useListing<string>([state], () => {
        const request = state.value
        return new Promise((resolve) => {
          answers.set(request, () => resolve({ items: [request], more: false }))
        })
      }),
    )
    state.value = 'b'
    await nextTick()
    answers.get('b')?.()
    answers.get('a')?.()
    await settle()
    expect(list?.items.value).toEqual(['b'])
  })

  it('loads no next page of an outdated request', async () => {
    const state = ref('a')
    const requests: string[] = []
    const list = scope.run(() =>
      useListing<string>([state], (last, page) => {
        requests.push(`${state.value} ${String(page)} ${last ?? '-'}`)
        return new Promise((resolve) => {
          setTimeout(() => resolve({ items: [`${state.value}${String(page)}`], more: true }))
        })
      }),
    )
    await settle()
    state.value = 'b'
    await nextTick() // b is requested, a is still shown
    await list?.loadMore()
    expect(requests).toEqual(['a 1 -', 'b 1 -', 'b 1 -'])
    expect(list?.items.value).toEqual(['b1'])
    await list?.loadMore()
    expect(list?.items.value).toEqual(['b1', 'b2'])
  })

  it('shows the reason of a failure and keeps the loaded items', async () => {
    let fails = false
    const refused = new Refused({ code: 'busy', message: '', retry_ms: 0, orders: [] })
    const list = scope.run(() =>
      useListing<number>([], () =>
        fails ? Promise.reject(refused) : Promise.resolve({ items: [1], more: true }),
      ),
    )
    await settle()
    fails = true
    await list?.loadMore()
    expect(list?.problem.value).not.toBe('')
    expect(list?.items.value).toEqual([1])
  })
})
