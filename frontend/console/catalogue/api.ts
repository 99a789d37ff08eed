import { fields, readable, text } from '../../src/protocol/fields'
import { useAsking } from '../asking'
import { askFile } from '../http'
import { upload } from './upload'
import {
  parseCategory,
  parseImport,
  parsePlan,
  parseProduct,
  parseReadiness,
  parseSaleRecord,
  parseSlot,
  type Category,
  type ImportReport,
  type Picture,
  type Product,
  type Readiness,
  type SaleRecord,
  type Slot,
  type SlotPlan,
} from './types'

/** What an operator says of a product; a null category takes it out of the one that it has. */
export interface ProductTerms {
  name: string
  category_id: string | null
  list_price_fen: number
  description: string
  rules: string
}

/** Why somebody does something, for the journal. */
export interface Noted {
  note?: string
}

/** The note that goes with an act; none, when nothing was written. */
export const noted = (note: string): Noted => (note ? { note } : {})

/** What an operator says of a sale. What is left out of a new one follows from the rest. */
export interface SaleTerms {
  price_fen: number
  stock: number
  limit: number
  cap?: number
  opens_at?: number
  closes_at?: number
  challenge?: string
}

export interface DayTemplate {
  from: string
  to: string
  times: readonly { opens: string; closes: string }[]
}

/** What can be moved by a table. */
export type Table = 'products' | 'sales'

export interface SalesQuery {
  slot?: string
  phase?: string
  q?: string
  archived?: boolean
  page?: number
}

/** How long a table of ten thousand lines may take. */
const TABLE_WITHIN_MS = 60_000

/** The catalogue's part of the API, one function for each operation; `dry` only tries, and answers what would be. */
export function useCatalogue() {
  const { signed, ask, act } = useAsking()
  const tried = (dry: boolean): string => (dry ? '?dry_run=true' : '')

  return {
    products: async (query: {
      q?: string
      category?: string
      archived?: boolean
      page?: number
      size?: number
    }) => {
      const f = fields(await ask('GET', '/operator/products', { query }), 'products')
      return { items: readable(f, 'products', parseProduct), more: f.more === true }
    },
    product: async (id: string): Promise<Product> =>
      parseProduct(await ask('GET', `/operator/products/${id}`)),
    makeProduct: async (
      key: string,
      terms: ProductTerms & Noted,
      images: readonly Picture[],
    ): Promise<Product> => {
      const { category_id: category, ...rest } = terms
      const draft = { ...rest, ...(category ? { category_id: category } : {}), images }
      return parseProduct(await act(key, 'POST', '/products', draft))
    },
    editProduct: async (
      key: string,
      id: string,
      edit: Partial<ProductTerms> & Noted & { version: number; archived?: boolean },
    ): Promise<Product> => parseProduct(await act(key, 'PATCH', `/products/${id}`, edit)),
    setPictures: async (
      key: string,
      id: string,
      pictures: Noted & { version: number; images: readonly Picture[] },
    ): Promise<Product> => parseProduct(await act(key, 'PUT', `/products/${id}/images`, pictures)),
    /** Keeps a picture, and answers its address. `progress` hears which part of it is on its way, from 0 to 1. */
    upload: (key: string, file: Blob, progress: (part: number) => void): Promise<string> =>
      signed(async (token) => text(fields(await upload(file, key, token, progress), 'image'), 'url')),

    categories: async (): Promise<Category[]> =>
      readable(fields(await ask('GET', '/operator/categories'), 'categories'), 'categories', parseCategory),
    makeCategory: async (key: string, name: string): Promise<Category> =>
      parseCategory(await act(key, 'POST', '/categories', { name })),
    editCategory: async (
      key: string,
      id: string,
      edit: { version: number; name?: string; position?: number; archived?: boolean },
    ): Promise<Category> => parseCategory(await act(key, 'PATCH', `/categories/${id}`, edit)),

    /** The slots of some days, and by whose clocks the days begin. */
    slots: async (from: string, to = from): Promise<{ slots: Slot[]; zone: string }> => {
      const f = fields(await ask('GET', '/operator/slots', { query: { from, to } }), 'slots')
      return { slots: readable(f, 'slots', parseSlot), zone: text(f, 'zone') }
    },
    makeSlot: async (key: string, slot: { opens_at: number; closes_at: number }): Promise<Slot> =>
      parseSlot(await act(key, 'POST', '/slots', slot)),
    removeSlot: async (key: string, id: string): Promise<Slot> =>
      parseSlot(await act(key, 'DELETE', `/slots/${id}`)),
    template: async (key: string, template: DayTemplate, dry = false): Promise<SlotPlan> =>
      parsePlan(await act(key, 'POST', `/slots/template${tried(dry)}`, template)),

    sales: async (query: SalesQuery) => {
      const f = fields(await ask('GET', '/operator/sales', { query: { ...query } }), 'sales')
      return { items: readable(f, 'sales', parseSaleRecord), more: f.more === true }
    },
    sale: async (id: string): Promise<SaleRecord> =>
      parseSaleRecord(await ask('GET', `/operator/sales/${id}`)),
    makeSale: async (
      key: string,
      sale: SaleTerms & Noted & { slot: string; product: string },
      dry = false,
    ): Promise<SaleRecord> => parseSaleRecord(await act(key, 'POST', `/sales${tried(dry)}`, sale)),
    editSale: async (
      key: string,
      id: string,
      edit: Partial<SaleTerms> & Noted & { version: number; position?: number; archived?: boolean },
      dry = false,
    ): Promise<SaleRecord> => parseSaleRecord(await act(key, 'PATCH', `/sales/${id}${tried(dry)}`, edit)),
    copySale: async (
      key: string,
      id: string,
      copy: Partial<SaleTerms> & Noted & { slot: string },
      dry = false,
    ): Promise<SaleRecord> => parseSaleRecord(await act(key, 'POST', `/sales/${id}/copy${tried(dry)}`, copy)),
    readiness: async (id: string): Promise<Readiness> =>
      parseReadiness(await ask('GET', `/operator/sales/${id}/readiness`)),

    exportTable: (what: Table): Promise<Blob> =>
      signed((token) => askFile(`/operator/export/${what}.csv`, { token, withinMs: TABLE_WITHIN_MS })),
    importTable: async (key: string, what: Table, file: Blob, dry: boolean): Promise<ImportReport> => {
      const body = new Blob([file], { type: 'text/csv' })
      const path = `/operator/import/${what}${tried(dry)}`
      return parseImport(await ask('POST', path, { key, body, withinMs: TABLE_WITHIN_MS }))
    },
  }
}

export type CatalogueApi = ReturnType<typeof useCatalogue>
