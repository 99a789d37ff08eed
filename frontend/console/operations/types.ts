import { fields, id, number, numberOr, text } from '../fields'

/** A sale as operators see it. */
export interface OperatorSale {
  readonly id: string
  readonly slot: string
  readonly name: string
  readonly price_fen: number
  readonly limit: number
  /** Reservations allowed per buyer; 0: unlimited. */
  readonly cap: number
  readonly challenge: string
  readonly phase: string
  readonly paused: boolean
  readonly opens_at: number
  readonly closes_at: number
  readonly initial: number
  readonly added: number
  readonly withdrawn: number
  readonly stock: number
  readonly held: number
  readonly sold: number
  /** Grows with every edit. An operation contains the version that the operator saw. */
  readonly version: number
}

export function parseOperatorSale(value: unknown): OperatorSale {
  const f = fields(value, 'sale')
  const product = f.product === undefined ? undefined : fields(f.product, 'product')
  return {
    id: id(f, 'id'),
    slot: typeof f.slot === 'string' ? id(f, 'slot') : id(fields(f.slot, 'slot'), 'id'),
    name: product ? text(product, 'name') : text(f, 'product_name'),
    price_fen: number(f, 'price_fen'),
    limit: number(f, 'limit'),
    cap: numberOr(f, 'cap', 0),
    challenge: text(f, 'challenge'),
    phase: text(f, 'phase'),
    paused: f.paused === true,
    opens_at: number(f, 'opens_at'),
    closes_at: number(f, 'closes_at'),
    initial: number(f, 'initial'),
    added: numberOr(f, 'added', 0),
    withdrawn: numberOr(f, 'withdrawn', 0),
    stock: numberOr(f, 'stock', 0),
    held: numberOr(f, 'held', 0),
    sold: numberOr(f, 'sold', 0),
    version: number(f, 'version'),
  }
}
