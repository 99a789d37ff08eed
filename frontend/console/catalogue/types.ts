import { fields, id, list, number, numberOr, optional, text, type Fields } from '../fields'

// The catalogue as the API returns it. `version` grows with every edit. An edit contains the version that the operator
// saw.

export interface Picture {
  readonly url: string
  readonly alt: string
}

/** The languages of the shopper's page. */
export const LANGS = ['en', 'zh'] as const

/** The texts of an object in further languages. An empty field has no translation: the object's own field applies. */
export type Texts<Field extends string> = Record<(typeof LANGS)[number], Record<Field, string>>
export const PRODUCT_TEXTS = ['name', 'description', 'rules'] as const
export type ProductTexts = Texts<(typeof PRODUCT_TEXTS)[number]>

export interface Product {
  readonly id: string
  readonly name: string
  readonly category: string
  readonly category_id?: string
  readonly list_price_fen: number
  /** An order needs a delivery address before it can be paid. */
  readonly ships: boolean
  readonly description: string
  readonly rules: string
  readonly texts: ProductTexts
  readonly images: readonly Picture[]
  /** Names of the markup that the server removed from the descriptions with this change. */
  readonly removed: readonly string[]
  readonly version: number
  readonly updated_at: number
  /** The time of archiving; absent for active products. */
  readonly archived_at?: number
}

export interface Category {
  readonly id: string
  readonly name: string
  readonly texts: Texts<'name'>
  readonly position: number
  /** Number of products that can be sold. */
  readonly products: number
  readonly version: number
  readonly archived_at?: number
}

export interface Slot {
  readonly id: string
  readonly phase: string
  readonly opens_at: number
  readonly closes_at: number
  /** Number of sales. */
  readonly sales: number
  /** Excluded from the lists of shoppers. */
  readonly hidden: boolean
}

export interface SaleRecord {
  readonly id: string
  readonly slot: Slot
  readonly product: Pick<Product, 'id' | 'name' | 'list_price_fen' | 'images'>
  readonly price_fen: number
  readonly initial: number
  readonly added: number
  readonly limit: number
  readonly cap: number
  readonly opens_at: number
  readonly closes_at: number
  readonly phase: string
  readonly paused: boolean
  readonly challenge: string
  readonly position: number
  /** The stock is in Redis: it can be added or withdrawn, but no longer set. */
  readonly loaded: boolean
  readonly version: number
  readonly archived_at?: number
}

export const CHECK_STATES = ['ok', 'warn', 'fail'] as const
export type CheckState = (typeof CHECK_STATES)[number]

export interface Check {
  readonly name: string
  readonly state: CheckState
  /** The finding and its values. `message` and `do` are English texts for codes that this page lacks. */
  readonly code: string
  readonly values: Readonly<Record<string, unknown>>
  readonly message: string
  readonly do: string
  /** Link to the runbook; empty from older servers. */
  readonly link: string
}

export interface Readiness {
  readonly ok: boolean
  readonly sale: SaleRecord
  readonly checks: readonly Check[]
}

export interface PlannedSlot {
  readonly day: string
  readonly opens: string
  readonly closes: string
  /** `new`, `there`, `overlaps` or `impossible`. */
  readonly state: string
  readonly message: string
}

export interface SlotPlan {
  readonly slots: readonly PlannedSlot[]
  readonly new: number
  readonly wrong: number
}

export interface ImportReport {
  readonly lines: number
  readonly created: number
  readonly changed: number
  readonly same: number
  readonly problems: readonly { readonly line: number; readonly column: string; readonly message: string }[]
  /** Names of the markup that the server removes from descriptions. */
  readonly removed: readonly { readonly line: number; readonly names: readonly string[] }[]
}

const textOr = (f: Fields, name: string): string => (typeof f[name] === 'string' ? f[name] : '')

export function parseTexts<Field extends string>(value: unknown, names: readonly Field[]): Texts<Field> {
  const texts = value === undefined ? {} : fields(value, 'texts')
  const entries = LANGS.map((lang) => {
    const own = texts[lang] === undefined ? {} : fields(texts[lang], lang)
    return [lang, Object.fromEntries(names.map((name) => [name, textOr(own, name)]))]
  })
  return Object.fromEntries(entries) as Texts<Field>
}

function parsePicture(value: unknown): Picture {
  const f = fields(value, 'image')
  return { url: text(f, 'url'), alt: textOr(f, 'alt') }
}

/** An absent list is empty. */
const names = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

export function parseProduct(value: unknown): Product {
  const f = fields(value, 'product')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    category: textOr(f, 'category'),
    ...optional(f, 'category_id', id),
    list_price_fen: number(f, 'list_price_fen'),
    ships: f.ships === true,
    description: textOr(f, 'description'),
    rules: textOr(f, 'rules'),
    texts: parseTexts(f.texts, PRODUCT_TEXTS),
    images: list(f, 'images', parsePicture),
    removed: names(f.removed),
    version: number(f, 'version'),
    updated_at: numberOr(f, 'updated_at', 0),
    ...optional(f, 'archived_at', number),
  }
}

export function parseCategory(value: unknown): Category {
  const f = fields(value, 'category')
  return {
    id: id(f, 'id'),
    name: text(f, 'name'),
    texts: parseTexts(f.texts, ['name']),
    position: number(f, 'position'),
    products: numberOr(f, 'products', 0),
    version: number(f, 'version'),
    ...optional(f, 'archived_at', number),
  }
}

export function parseSlot(value: unknown): Slot {
  const f = fields(value, 'slot')
  return {
    id: id(f, 'id'),
    phase: textOr(f, 'phase'),
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    sales: numberOr(f, 'sales', 0),
    hidden: f.hidden === true,
  }
}

export function parseSaleRecord(value: unknown): SaleRecord {
  const f = fields(value, 'sale')
  const product = fields(f.product, 'product')
  return {
    id: id(f, 'id'),
    slot: parseSlot(f.slot),
    product: {
      id: id(product, 'id'),
      name: text(product, 'name'),
      list_price_fen: number(product, 'list_price_fen'),
      images: list(product, 'images', parsePicture),
    },
    price_fen: number(f, 'price_fen'),
    initial: number(f, 'initial'),
    added: numberOr(f, 'added', 0),
    limit: number(f, 'limit'),
    cap: number(f, 'cap'),
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    phase: text(f, 'phase'),
    paused: f.paused === true,
    challenge: text(f, 'challenge'),
    position: numberOr(f, 'position', 0),
    loaded: f.loaded === true,
    version: number(f, 'version'),
    ...optional(f, 'archived_at', number),
  }
}

function parseCheck(value: unknown): Check {
  const f = fields(value, 'check')
  // An unknown state counts as failed.
  const state = CHECK_STATES.find((known) => known === f.state) ?? 'fail'
  return {
    name: text(f, 'name'),
    state,
    code: textOr(f, 'code'),
    values: f.values === undefined ? {} : fields(f.values, 'values'),
    message: text(f, 'message'),
    do: textOr(f, 'do'),
    link: textOr(f, 'link'),
  }
}

export function parseReadiness(value: unknown): Readiness {
  const f = fields(value, 'readiness')
  return { ok: f.ok === true, sale: parseSaleRecord(f.sale), checks: list(f, 'checks', parseCheck) }
}

export function parsePlan(value: unknown): SlotPlan {
  const f = fields(value, 'plan')
  return {
    slots: list(f, 'slots', (one) => {
      const line = fields(one, 'slot')
      return {
        day: text(line, 'day'),
        opens: text(line, 'opens'),
        closes: text(line, 'closes'),
        state: text(line, 'state'),
        message: textOr(line, 'message'),
      }
    }),
    new: number(f, 'new'),
    wrong: number(f, 'wrong'),
  }
}

export function parseImport(value: unknown): ImportReport {
  const f = fields(value, 'report')
  return {
    lines: number(f, 'lines'),
    created: number(f, 'created'),
    changed: number(f, 'changed'),
    same: number(f, 'same'),
    problems: list(f, 'problems', (one) => {
      const problem = fields(one, 'problem')
      return {
        line: number(problem, 'line'),
        column: textOr(problem, 'column'),
        message: text(problem, 'message'),
      }
    }),
    removed: (Array.isArray(f.removed) ? f.removed : []).map((one) => {
      const line = fields(one, 'line')
      return { line: number(line, 'line'), names: names(line.names) }
    }),
  }
}
