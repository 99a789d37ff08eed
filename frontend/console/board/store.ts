import { shallowRef } from 'vue'
import { defineStore } from '../../src/stores/define'
import { fields, Malformed, readable } from '../fields'
import { asReadonly } from '../../src/stores/readonly'
import { parseBoard, parsePoint, type BoardFrame, type Point } from './types'

/** The time span of the charts and the interval of their points. */
export const SPAN_MS = 15 * 60_000
const STEP_MS = 5_000

/** The state of the live board: the newest frame, and the points of the last fifteen minutes. */
export const useBoard = defineStore('board', () => {
  const frame = shallowRef<BoardFrame>()
  const history = shallowRef<readonly Point[]>([])
  /** The protocol's error code if the feed was refused; undefined if the feed runs or no response has arrived. */
  const refused = shallowRef<string>()
  const notice = shallowRef<{ level: string; text: string }>()

  /** Takes the reply to the feed request, which contains the history. The first frame follows within a second. */
  function start(reply: unknown): void {
    refused.value = undefined
    try {
      history.value = readable(fields(reply, 'board'), 'history', parsePoint)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn('the reply to board cannot be parsed:', error.message)
    }
  }

  /** Handles a board event; other events are ignored. */
  function apply(event: unknown): void {
    try {
      if (fields(event, 'event').ev === 'board') applyFrame(event)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      console.warn('ignored an invalid frame of the board:', error.message)
    }
  }

  function applyFrame(value: unknown): void {
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
    start,
    apply,
    setNotice: (level: string, text: string) => (notice.value = text ? { level, text } : undefined),
    refuse: (code: string | undefined) => (refused.value = code),
  }
})
