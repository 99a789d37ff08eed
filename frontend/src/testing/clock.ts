import { vi } from 'vitest'
import { useLive } from '../stores/live'

/** Sets the time of the test and of the page; `overdue` means that a frame is overdue. */
export function at(now: number, overdue = false): void {
  vi.setSystemTime(now)
  useLive().refresh(overdue)
}
