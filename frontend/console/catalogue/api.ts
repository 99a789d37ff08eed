import { fields, readable, text } from '../fields'
import { useRequests } from '../requests'
import { downloadFile } from '../http'
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
  type ProductTexts,
  type Readiness,
  type SaleRecord,
  type Slot,
  type SlotPlan,
  type Texts,
} from './types'

/** The editable fields of a product. A null category removes the product from its category. */
export interface ProductTerms {
  name: string
  category_id: string | null
  list_price_fen: number
  ships: boolean
  description: string
  rules: string
  texts: ProductTexts
}

/** The editable fields of a category. */
export interface CategoryEdit {
  name?: string
  texts?: Texts<'name'>
  position?: number
  archived?: boolean
}

/** An operation with a reason for the audit log. */
export interface WithNote {
  note?: string
}

/** withNote returns the note of an operation as a field; an empty note is omitted. */
export const withNote = (note: string): WithNote => (note ? { note } : {})

/** The editable fields of a sale. The server derives the omitted fields of a new sale. */
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

/** The tables that can be exported and imported. */
export type Table = 'products' | 'sales'

export interface SalesQuery {
  slot?: string
  phase?: string
  q?: string
  archived?: boolean
  page?: number
}

/** The time limit for an import of ten thousand lines. */
const TABLE_TIMEOUT_MS = 60_000

/** The catalogue API, one function per operation. `dry` validates and returns the result without a change. */
export function useCatalogue() {
  const { signed, request, operate } = useRequests()
  const dryRunQuery = (dry: boolean): string => (dry ? '?dry_run=true' : '')

  return {
    products: async (query: {
      q?: string
      category?: string
      archived?: boolean
      page?: number
      size?: number
    }) => {
      const f = fields(await request('GET', '/operator/products', { query }), 'products')
      return { items: readable(f, 'products', parseProduct), more: f.more === true }
    },
    product: async (id: string): Promise<Product> =>
      parseProduct(await request('GET', `/operator/products/${id}`)),
    createProduct: async (
      key: string,
      terms: ProductTerms & WithNote,
      images: readonly Picture[],
    ): Promise<Product> => {
      const { category_id: category, ...otherTerms } = terms
      const draft = { ...otherTerms, ...(category ? { category_id: category } : {}), images }
      return parseProduct(await operate(key, 'POST', '/products', draft))
    },
    editProduct: async (
      key: string,
      id: string,
      edit: Partial<ProductTerms> & WithNote & { version: number; archived?: boolean },
    ): Promise<Product> => parseProduct(await operate(key, 'PATCH', `/products/${id}`, edit)),
    setPictures: async (
      key: string,
      id: string,
      pictures: WithNote & { version: number; images: readonly Picture[] },
    ): Promise<Product> => parseProduct(await operate(key, 'PUT', `/products/${id}/images`, pictures)),
    /** Stores a picture and returns its URL. `progress` receives the uploaded share, from 0 to 1. */
    upload: (key: string, file: Blob, progress: (part: number) => void): Promise<string> =>
      signed(async (token) => text(fields(await upload(file, key, token, progress), 'image'), 'url')),

    categories: async (): Promise<Category[]> =>
      readable(
        fields(await request('GET', '/operator/categories'), 'categories'),
        'categories',
        parseCategory,
      ),
    createCategory: async (key: string, name: string): Promise<Category> =>
      parseCategory(await operate(key, 'POST', '/categories', { name })),
    editCategory: async (
      key: string,
      id: string,
      edit: { version: number } & CategoryEdit,
    ): Promise<Category> => parseCategory(await operate(key, 'PATCH', `/categories/${id}`, edit)),

    /** The slots of a range of days, and the time zone of the days. */
    slots: async (from: string, to = from): Promise<{ slots: Slot[]; zone: string }> => {
      const f = fields(await request('GET', '/operator/slots', { query: { from, to } }), 'slots')
      return { slots: readable(f, 'slots', parseSlot), zone: text(f, 'zone') }
    },
    createSlot: async (key: string, slot: { opens_at: number; closes_at: number }): Promise<Slot> =>
      parseSlot(await operate(key, 'POST', '/slots', slot)),
    removeSlot: async (key: string, id: string): Promise<Slot> =>
      parseSlot(await operate(key, 'DELETE', `/slots/${id}`)),
    template: async (key: string, template: DayTemplate, dry = false): Promise<SlotPlan> =>
      parsePlan(await operate(key, 'POST', `/slots/template${dryRunQuery(dry)}`, template)),

    sales: async (query: SalesQuery) => {
      const f = fields(await request('GET', '/operator/sales', { query: { ...query } }), 'sales')
      return { items: readable(f, 'sales', parseSaleRecord), more: f.more === true }
    },
    sale: async (id: string): Promise<SaleRecord> =>
      parseSaleRecord(await request('GET', `/operator/sales/${id}`)),
    createSale: async (
      key: string,
      sale: SaleTerms & WithNote & { slot: string; product: string },
      dry = false,
    ): Promise<SaleRecord> => parseSaleRecord(await operate(key, 'POST', `/sales${dryRunQuery(dry)}`, sale)),
    editSale: async (
      key: string,
      id: string,
      edit: Partial<SaleTerms> & WithNote & { version: number; position?: number; archived?: boolean },
      dry = false,
    ): Promise<SaleRecord> =>
      parseSaleRecord(await operate(key, 'PATCH', `/sales/${id}${dryRunQuery(dry)}`, edit)),
    copySale: async (
      key: string,
      id: string,
      copy: Partial<SaleTerms> & WithNote & { slot: string },
      dry = false,
    ): Promise<SaleRecord> =>
      parseSaleRecord(await operate(key, 'POST', `/sales/${id}/copy${dryRunQuery(dry)}`, copy)),
    readiness: async (id: string): Promise<Readiness> =>
      parseReadiness(await request('GET', `/operator/sales/${id}/readiness`)),

    exportTable: (what: Table): Promise<Blob> =>
      signed((token) => downloadFile(`/operator/export/${what}.csv`, { token, timeoutMs: TABLE_TIMEOUT_MS })),
    importTable: async (key: string, what: Table, file: Blob, dry: boolean): Promise<ImportReport> => {
      const body = new Blob([file], { type: 'text/csv' })
      const path = `/operator/import/${what}${dryRunQuery(dry)}`
      return parseImport(await request('POST', path, { key, body, timeoutMs: TABLE_TIMEOUT_MS }))
    },
  }
}

export type CatalogueApi = ReturnType<typeof useCatalogue>
