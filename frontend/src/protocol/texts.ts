import { list, object, parse, parser, record, text } from './fields'
import type { Shop, ShopText } from './types'

export type { ShopText }

const shop = object<Shop>({ texts: record(list(text)) })

/** The names of the texts of the page that are set. */
export function parseTextNames(value: unknown): string[] {
  const { texts } = parse(shop, value)
  return Object.keys(texts).filter((name) => texts[name]?.length)
}

export const parseShopText = parser(object<ShopText>({ lang: text, text }))
