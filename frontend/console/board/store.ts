import { defineStore } from 'pinia'
import { shallowRef } from 'vue'
import { fields, Malformed, readable } from '../../src/protocol/fields'
import { asReadonly } from '../../src/stores/readonly'
import { parseBoard, parsePoint, type BoardFrame, type Point } from './types'

/** What the charts show, and how far apart their points are. */
export const SPAN_MS = 15 * 60_000
const STEP_MS = 5_000

/** What the live board shows: the newest frame, and the last fifteen minutes. */
export const useBoard = defineStore('board', () => {
  const frame = shallowRef<BoardFrame>()
  const history = shallowRef<readonly Point[]>([])
  /** Why there is no feed, in the protocol's word; undefined when there is one, or when nobody knows. */
  const refused = shallowRef<string>()
  const notice = shallowRef<{ level: string; text: string }>()

  /** Takes the answer to the request for the feed, the past; the present comes within a second. */
  function begin(reply: unknown): void {
    refused.value = undefined
    try {
      history.value = readable(fields(reply, 'board'), 'history', parsePoint)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn('the answer to board cannot be read:', error.message)
    }
  }

  /** Hears an event; others than the board's are none of ours. */
  function hear(event: unknown): void {
    try {
      if (fields(event, 'event').ev === 'board') take(event)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn('ignored a frame of the board:', error.message)
    }
  }

  function take(value: unknown): void {
    const next = parseBoard(value)
    frame.value = next
    const last = history.value.at(-1)
    if (last && next.at - last.at < STEP_MS) return
    history.value = [...history.value.filter(({ at }) => at > next.at - SPAN_MS), next]
  }

  return {
    frame: asReadonly(frame),
    history: asReadonly(history),
    refused: asReadonly(refused),
    notice: asReadonly(notice),
    begin,
    hear,
    hearNotice: (level: string, text: string) => (notice.value = text ? { level, text } : undefined),
    refuse: (code: string | undefined) => (refused.value = code),
  }
})
