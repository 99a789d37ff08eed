import type { Inverse } from '../operations/outcomes'
import { useApi } from '../api'
import { useConsoleWords } from '../words'
import type { Block } from './types'

/** The inverse operations of blocking and unblocking. */
export function useBlockInverses() {
  const api = useApi()
  const words = useConsoleWords()

  const unblock = ({ id, value }: Block): Inverse => ({
    label: words.value.blocks.remove,
    send: (key) => api.unblock(key, id),
    doneText: words.value.blocks.removed(value),
  })

  const blockAgain = ({ kind, value, reason, until }: Block): Inverse => ({
    label: words.value.blocks.submit,
    send: (key) => api.block(key, { kind, value, reason, ...(until ? { until } : {}) }),
    doneText: words.value.blocks.added(value),
  })

  return { unblock, blockAgain }
}
