import { fields, readable } from './fields'
import { useRequests } from './requests'
import { parseRefund, type Refund } from './aftersale/types'
import { parseEntry, parseReport, type JournalEntry, type JournalReport } from './journal/types'
import type { Page } from './listing'
import {
  parseBlock,
  parseNotice,
  parsePageText,
  parseSwitches,
  type Block,
  type NewNotice,
  type Notice,
  type PageText,
  type Switches,
} from './shop/types'
import { parseOperatorSale, type OperatorSale } from './operations/types'

export interface JournalQuery {
  before?: number
  limit?: number
  object?: string
  actor?: string
  kind?: string
}

/** A change of a sale; `version` is the version that the operator saw. */
export interface SaleOperation {
  version: number
  note?: string
}

/**
 * The operator API, one function per operation. Each rejects with Conflict, Refused or Lost, or with Malformed if
 * the response cannot be parsed. Operations take an idempotency key.
 */
export function useApi() {
  const { request, operate } = useRequests()
  const onSale =
    <B extends SaleOperation>(what: string) =>
    async (key: string, id: string, body: B): Promise<void> => {
      await operate(key, 'POST', `/sales/${id}/${what}`, body)
    }

  return {
    sale: async (id: string): Promise<OperatorSale> =>
      parseOperatorSale(await request('GET', `/operator/sales/${id}`)),
    pause: onSale('pause'),
    resume: onSale('resume'),
    end: onSale('end'),
    stock: onSale<SaleOperation & { units: number }>('stock'),
    challenge: onSale<SaleOperation & { challenge: string }>('challenge'),

    notice: async (): Promise<Notice | undefined> => parseNotice(await request('GET', '/operator/notice')),
    publishNotice: async (key: string, notice: NewNotice): Promise<void> => {
      await operate(key, 'POST', '/notice', notice)
    },
    endNotice: async (key: string): Promise<void> => {
      await operate(key, 'DELETE', '/notice')
    },
    switches: async (): Promise<Switches> => parseSwitches(await request('GET', '/operator/switches')),
    setSwitches: async (key: string, change: Partial<Switches> & { version: number }): Promise<Switches> =>
      parseSwitches(await operate(key, 'PATCH', '/switches', change)),

    texts: async (): Promise<PageText[]> =>
      readable(fields(await request('GET', '/operator/texts'), 'texts'), 'texts', parsePageText),
    setText: async (key: string, edit: PageText & { note?: string }): Promise<PageText> =>
      parsePageText(await operate(key, 'PUT', '/texts', edit)),

    blocks: async (): Promise<Block[]> =>
      readable(fields(await request('GET', '/operator/blocks'), 'blocks'), 'blocks', parseBlock),
    block: async (key: string, block: Pick<Block, 'kind' | 'value' | 'reason'> & { until?: number }) =>
      parseBlock(await operate(key, 'POST', '/blocks', block)),
    unblock: async (key: string, id: number): Promise<void> => {
      await operate(key, 'DELETE', `/blocks/${String(id)}`)
    },

    refunds: async (state: string, before?: string): Promise<Page<Refund>> => {
      const f = fields(
        await request('GET', '/operator/refunds', { query: { state, before, limit: 50 } }),
        'refunds',
      )
      return { items: readable(f, 'refunds', parseRefund), more: f.more === true }
    },
    /** `retry` makes the server query the gateway again about a stuck refund. */
    decideRefund: async (
      key: string,
      order: string,
      how: 'approve' | 'decline' | 'retry',
      note?: string,
    ): Promise<void> => {
      await operate(key, 'POST', `/refunds/${order}/${how}`, { note })
    },

    journal: async (query: JournalQuery): Promise<Page<JournalEntry>> => {
      const f = fields(await request('GET', '/operator/journal', { query: { ...query } }), 'journal')
      return { items: readable(f, 'entries', parseEntry), more: f.more === true }
    },
    verifyJournal: async (head?: string): Promise<JournalReport> =>
      parseReport(await request('GET', '/operator/journal/verify', { query: { head } })),
  }
}

export type Api = ReturnType<typeof useApi>
