import { fields, number, readable } from '../fields'
import { useRequests } from '../requests'
import { downloadFile } from '../http'
import type { Page } from '../listing'
import { parseSaleReport, type SaleReport } from '../report/types'
import { parseDeadLetter, parseMail, parsePosting, type FailedJob, type FailedJobKind } from './failedjobs'
import {
  parseAccount,
  parseOperatorOrder,
  parsePayment,
  parseShipReport,
  parseUserFile,
  type Account,
  type OperatorOrder,
  type Payment,
  type ShipReport,
  type UserFile,
} from './types'

export interface OrderQuery {
  state?: string
  sale?: string
  user?: string
  /** An order number, a trade number, a buyer id, or a complete e-mail address. */
  q?: string
  before?: string
}

const PAGE = 50
const LISTS: Record<FailedJobKind, { name: string; parse: (value: unknown) => FailedJob }> = {
  dead: { name: 'letters', parse: parseDeadLetter },
  parked: { name: 'postings', parse: parsePosting },
  mails: { name: 'mails', parse: parseMail },
}

/** The operator API for work after a sale, one function per operation. Errors as in useApi. */
export function useAftersaleApi() {
  const { signed, request, operate } = useRequests()
  const post = (key: string, path: string, body: unknown = {}): Promise<unknown> =>
    operate(key, 'POST', path, body)

  async function page<T>(
    path: string,
    name: string,
    query: object,
    parse: (value: unknown) => T,
  ): Promise<Page<T>> {
    const f = fields(await request('GET', `/operator${path}`, { query: { ...query, limit: PAGE } }), name)
    return { items: readable(f, name, parse), more: f.more === true }
  }

  return {
    orders: (query: OrderQuery): Promise<Page<OperatorOrder>> =>
      page('/orders', 'orders', query, parseOperatorOrder),
    order: async (id: string): Promise<OperatorOrder> =>
      parseOperatorOrder(await request('GET', `/operator/orders/${id}`)),
    /** Refunds the whole amount of an order, with or without a request of the buyer. */
    refund: async (key: string, order: string, note: string): Promise<void> => {
      await post(key, `/orders/${order}/refund`, { note })
    },
    /** `replace` corrects the parcel of an order that is already shipped. */
    ship: async (
      key: string,
      order: string,
      parcel: { carrier: string; tracking: string; replace?: true; part_refunded?: true },
    ) => {
      await post(key, `/orders/${order}/ship`, parcel)
    },
    /** Enters the parcels of a file; `dry_run` only returns the result of each line. */
    shipMany: async (
      key: string,
      body: { csv: string; dry_run: boolean; replace: boolean },
    ): Promise<ShipReport> => parseShipReport(await post(key, '/ship', body)),

    users: (query: { q?: string; before?: string }): Promise<Page<Account>> =>
      page('/users', 'users', query, parseAccount),
    user: async (id: string): Promise<UserFile> =>
      parseUserFile(await request('GET', `/operator/users/${id}`)),

    payments: (query: { state?: string; q?: string; before?: string }): Promise<Page<Payment>> =>
      page('/payments', 'payments', query, parsePayment),
    /** Refunds one payment that does not fit an order, or all with an outcome. */
    refundPayments: async (
      key: string,
      which: { trade_no: string } | { state: string },
      note: string,
    ): Promise<number> =>
      number(fields(await post(key, '/payments/refund', { ...which, note }), 'refunded'), 'payments'),

    failedJobs: (kind: FailedJobKind): Promise<Page<FailedJob>> =>
      page(`/${kind}`, LISTS[kind].name, {}, LISTS[kind].parse),
    /** Mails are retried; dead letters and quarantined entries are replayed. */
    decide: async (key: string, { kind, id }: FailedJob, how: 'retry' | 'drop'): Promise<void> => {
      const retry = kind === 'mails' ? 'retry' : 'replay'
      await post(key, `/${kind}/${encodeURIComponent(id)}/${how === 'drop' ? 'drop' : retry}`)
    },

    report: async (sale: string): Promise<SaleReport> =>
      parseSaleReport(await request('GET', `/operator/sales/${sale}/report`)),
    reportFile: (sale: string): Promise<Blob> =>
      signed((token) => downloadFile(`/operator/sales/${sale}/report.csv`, { token })),
  }
}
