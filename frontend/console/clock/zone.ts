// The shop's days and hours are by the clocks of the shop, wherever somebody works at the console.

const DAY_MS = 86_400_000

/** What the clocks of a zone show at an instant. */
export interface Wall {
  /** 2026-11-21 */
  readonly day: string
  /** 10:00, or 10:00:30 where there are seconds. */
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

/** Whether this browser knows the clocks of a zone. */
export function knowsZone(zone: string): boolean {
  try {
    return formatOf(zone) !== undefined
  } catch {
    return false
  }
}

export function wallOf(at: number, zone: string): Wall {
  const { day, time } = secondOf(at, zone)
  return { day, time: time.endsWith(':00') ? time.slice(0, 5) : time }
}

/** The same to the second: how instants are shown that nobody has chosen. */
export function secondOf(at: number, zone: string): Wall {
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

/** A window in one text; the second day is named only when it is another one, of which midnight is none. */
export function windowText(from: number, to: number, zone: string): string {
  const [begin, end] = [wallOf(from, zone), wallOf(to, zone)]
  if (end.time === '00:00' && end.day === dayAfter(begin.day, 1)) return `${begin.day} ${begin.time} – 24:00`
  return `${begin.day} ${begin.time} – ${end.day === begin.day ? '' : `${end.day} `}${end.time}`
}

/**
 * When the clocks of a zone show that: once as a rule, never where they are set forward over it, and twice where they are
 * set back over it. Nothing for what is no day or time.
 */
export function instantsOf(day: string, time: string, zone: string): number[] {
  const wall = /^\d{4}-\d\d-\d\d$/.test(day) && /^\d\d:\d\d(:\d\d)?$/.test(time) ? utcOf({ day, time }) : NaN
  if (Number.isNaN(wall)) return []
  // The clocks are ahead of UTC by what they are ahead a day before, or a day after.
  const ahead = [wall - DAY_MS, wall + DAY_MS].map((at) => utcOf(wallOf(at, zone)) - at)
  const candidates = [...new Set(ahead.map((ms) => wall - ms))]
  return candidates.filter((at) => utcOf(wallOf(at, zone)) === wall).sort((a, b) => a - b)
}

/** What the clocks show, taken for UTC. */
function utcOf({ day, time }: Wall): number {
  return Date.parse(`${day}T${time.length === 5 ? `${time}:00` : time}Z`)
}

/** The day so many days later. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** The Monday of a day's week. */
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

/** The part of a day, from 0 to 1, at which an instant lies; before and after it are its ends. */
export function partOfDay(at: number, day: string, zone: string): number {
  const wall = wallOf(at, zone)
  if (wall.day < day) return 0
  if (wall.day > day) return 1
  const [hours = 0, minutes = 0, seconds = 0] = wall.time.split(':').map(Number)
  return (hours * 3600 + minutes * 60 + seconds) / 86_400
}
