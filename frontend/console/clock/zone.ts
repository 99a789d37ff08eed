// Days and hours of the console are in the shop's time zone, not in the operator's.

const DAY_MS = 86_400_000

/** The local date and time of a zone at an instant. */
export interface LocalTime {
  /** 2026-11-21 */
  readonly day: string
  /** 10:00, or 10:00:30 with seconds. */
  readonly time: string
}

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  formats.set(zone, made)
  return made
}

/** Reports whether this browser supports a time zone. */
export function isKnownZone(zone: string): boolean {
  try {
    return formatOf(zone) !== undefined
  } catch {
    return false
  }
}

export function localTimeOf(at: number, zone: string): LocalTime {
  const { day, time } = secondOf(at, zone)
  return { day, time: time.endsWith(':00') ? time.slice(0, 5) : time }
}

/** Like localTimeOf, always with seconds; for recorded instants. */
export function secondOf(at: number, zone: string): LocalTime {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  const { year, month, day, hour, minute, second } = parts
  return {
    day: `${String(year)}-${String(month)}-${String(day)}`,
    time: `${String(hour)}:${String(minute)}:${String(second)}`,
  }
}

/** A window as text. The second date is shown only if it differs. Midnight at the end of the first day is 24:00. */
export function windowText(from: number, to: number, zone: string): string {
  const [start, end] = [localTimeOf(from, zone), localTimeOf(to, zone)]
  if (end.time === '00:00' && end.day === dayAfter(start.day, 1)) return `${start.day} ${start.time} – 24:00`
  return `${start.day} ${start.time} – ${end.day === start.day ? '' : `${end.day} `}${end.time}`
}

/**
 * The instants at which the zone shows this local time: usually one, none if the clocks skip it, two if they repeat it.
 * Empty for an invalid date or time.
 */
export function instantsOf(day: string, time: string, zone: string): number[] {
  const local = /^\d{4}-\d\d-\d\d$/.test(day) && /^\d\d:\d\d(:\d\d)?$/.test(time) ? utcOf({ day, time }) : NaN
  if (Number.isNaN(local)) return []
  // The possible offsets from UTC are those of the day before and of the day after.
  const offsets = [local - DAY_MS, local + DAY_MS].map((at) => utcOf(localTimeOf(at, zone)) - at)
  const candidates = [...new Set(offsets.map((ms) => local - ms))]
  return candidates.filter((at) => utcOf(localTimeOf(at, zone)) === local).sort((a, b) => a - b)
}

/** The local time interpreted as UTC. */
function utcOf({ day, time }: LocalTime): number {
  return Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`)
}

/** The date `days` days later. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The Monday of the week of a day. */
export function mondayOf(day: string): string {
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay()
  return dayAfter(day, -((weekday + 6) % 7))
}

export function isDay(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) &&
    !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) &&
    dayAfter(text, 0) === text
  )
}

/** The position of an instant within a day, from 0 to 1; clamped for instants outside of the day. */
export function partOfDay(at: number, day: string, zone: string): number {
  const local = localTimeOf(at, zone)
  if (local.day < day) return 0
  if (local.day > day) return 1
  const [hours = 0, minutes = 0, seconds = 0] = local.time.split(':').map(Number)
  return (hours * 3600 + minutes * 60 + seconds) / 86_400
}
