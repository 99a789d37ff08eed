/** The time left as text: "1:02:03", "02:03", and "00:00" at the end. */
export function countdown(ms: number): string {
  return countdownParts(ms).join(':')
}

/**
 * The parts of the time left, with hours only if there are any. Seconds are rounded up, so that 00:00 appears exactly
 * at the end.
 */
export function countdownParts(ms: number): string[] {
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
