import type { Lang } from '../stores/preferences'

// Formatters are expensive to construct, so each one is constructed once.

const LOCALES: Record<Lang, string> = { en: 'en', zh: 'zh-CN' }

/** Returns a formatter per language and option. */
function cached<F>(make: (locale: string, option: string) => F): (lang: Lang, option: string) => F {
  const made = new Map<string, F>()
  return (lang, option) => {
    const key = `${lang} ${option}`
    const formatter = made.get(key) ?? make(LOCALES[lang], option)
    made.set(key, formatter)
    return formatter
  }
}

const money = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'CNY',
  currencyDisplay: 'narrowSymbol',
  trailingZeroDisplay: 'stripIfInteger',
})

/** Formats whole fen, the unit of all amounts: 12900 → "¥129", 12950 → "¥129.50". Both languages use this form. */
export function yuan(fen: number): string {
  return money.format(fen / 100)
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const small = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** A number with grouped thousands, and one decimal if it is below 10. Both languages use this form. */
export function number(n: number): string {
  return (Math.abs(n) < 10 ? small : whole).format(n)
}

const rules = cached((locale) => new Intl.PluralRules(locale))

/** The plural form of a number in a language, with the number in place of #. */
export function plural(
  lang: Lang,
  n: number,
  forms: Partial<Record<Intl.LDMLPluralRule, string>> & { other: string },
): string {
  return (forms[rules(lang, '').select(n)] ?? forms.other).replace('#', number(n))
}

const lists = cached((locale, style) => {
  return new Intl.ListFormat(locale, { style: style as 'long' | 'narrow', type: 'conjunction' })
})

/** Parts as a list: "a, b, and c", or "a, b, c" in the narrow form. */
export function list(lang: Lang, parts: readonly string[], style: 'long' | 'narrow' = 'long'): string {
  return lists(lang, style).format(parts)
}

type Unit = 'millisecond' | 'second' | 'minute' | 'hour' | 'day'
type Width = 'short' | 'long'

const units = cached((locale, option) => {
  const [unit, unitDisplay] = option.split(' ') as [Unit, Width]
  return new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 })
})

/** A number with its unit: "4.2 sec", or "4.2 seconds" in the long form. */
export function unit(lang: Lang, n: number, of: Unit, width: Width = 'short'): string {
  return units(lang, `${of} ${width}`).format(n)
}

/** A duration in milliseconds, in its largest fitting unit. Small seconds and hours have one decimal. */
export function duration(lang: Lang, ms: number): string {
  if (ms < 1_000) return unit(lang, Math.round(ms), 'millisecond')
  const s = ms / 1_000
  if (s < 90) return unit(lang, s < 10 ? s : Math.round(s), 'second')
  if (s < 90 * 60) return unit(lang, Math.round(s / 60), 'minute')
  const h = s / 3_600
  if (h < 36) return unit(lang, h < 10 ? h : Math.round(h), 'hour')
  return unit(lang, Math.round(h / 24), 'day')
}

const relative = cached((locale) => new Intl.RelativeTimeFormat(locale))

/** A time from now: "in 5 seconds". */
export function fromNow(lang: Lang, seconds: number): string {
  return relative(lang, '').format(seconds, 'second')
}
