/** The last part of a countdown is shown in tenths of a second, in milliseconds. */
export const TENTHS_FROM_MS = 10_000

/** The time left as text: "1:02:03", "02:03", "9.4" in the last ten seconds, and "00:00" at the end. */
export function countdown(ms: number): string {
  return countdownParts(ms).join(':')
}

/**
 * The parts of the time left, with hours only if there are any. Seconds and tenths are rounded up, so that 00:00
 * appears exactly at the end.
 */
export function countdownParts(ms: number): string[] {
  const tenths = Math.ceil(ms / 100)
  if (tenths > 0 && tenths * 100 < TENTHS_FROM_MS) return [(tenths / 10).toFixed(1)]
  const left = Math.max(0, Math.ceil(ms / 1000))
  const twoDigits = (n: number): string => String(n).padStart(2, '0')
  const hours = Math.floor(left / 3600)
  const minutesAndSeconds = [twoDigits(Math.floor(left / 60) % 60), twoDigits(left % 60)]
  return hours > 0 ? [String(hours), ...minutesAndSeconds] : minutesAndSeconds
}

/** The hour and minute of an instant in the reader's time zone. */
export function clockTime(at: number, lang: string): string {
  return new Date(at).toLocaleTimeString(lang, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
}

/** The day, hour and minute of an instant in the reader's time zone. */
export function dayAndTime(at: number, lang: string): string {
  return new Date(at).toLocaleString(lang, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
}
