import { fields, list, text } from './fields'

/** A text of the page. It may be in another language than the page. */
export interface ShopText {
  readonly lang: string
  readonly text: string
}

/** The names of the texts of the page that are set. */
export function parseTextNames(value: unknown): string[] {
  const texts = fields(fields(value, 'shop').texts, 'texts')
  return Object.keys(texts).filter((name) => list(texts, name, String).length > 0)
}

export function parseShopText(value: unknown): ShopText {
  const f = fields(value, 'text')
  return { lang: text(f, 'lang'), text: text(f, 'text') }
}
