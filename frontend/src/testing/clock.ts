import { vi } from 'vitest'
import { useLive } from '../stores/live'

/** It is that instant, for the page too; `overdue` says that an expected word has not come. */
export function at(now: number, overdue = false): void {
  vi.setSystemTime(now)
  useLive().refresh(overdue)
}
