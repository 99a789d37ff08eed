import { fields } from './fields'
import { parseTexts } from './parse'

/** The texts of the page that are set, by name and language. */
export type ShopTexts = Readonly<Record<string, Readonly<Record<string, string>>>>

export function parseShopTexts(value: unknown): ShopTexts {
  const texts = fields(fields(value, 'shop').texts, 'texts')
  return Object.fromEntries(Object.keys(texts).map((name) => [name, parseTexts(texts[name])]))
}
