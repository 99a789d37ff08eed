/** Formats a value of a finding, by name. */
export type Value = (name: string) => string

/** The text of a finding, and an action unless the finding implies it. */
export interface CheckWords {
  readonly message: (of: Value) => string
  readonly do?: (of: Value) => string
}

const stores = (): string => 'Check that the stores respond: stampede checkconfig, and the log of the node'
const recover = (): string =>
  'Wait some seconds for the recovery. If it does not end, search the log for ‘check partitions’'
const workers = (): string => 'Run stampede status. Check that workers run, and check the database'
const disk = (): string => 'Check that its disk is not full'
const config = (): string => 'Run stampede checkconfig'

const parts: Record<string, string> = {
  mails: 'e-mails',
  'which nodes there are': 'the list of nodes',
  'how durable the stores are': 'the durability of the stores',
}
const duties: Record<string, string> = {
  api: 'serves shoppers',
  worker: 'writes orders',
  sweeper: 'expires unpaid orders',
}
const duty = (of: Value): string => duties[of('role')] ?? of('role')

/** The findings of a sale's readiness checks, by the server's codes; checks.zh.ts has the same codes. */
export const checksEn: Record<string, CheckWords> = {
  unread: { message: (of) => `cannot read ${parts[of('what')] ?? of('what')} right now`, do: stores },
  sale_archived: { message: () => 'the sale is archived and not visible', do: () => 'Restore it' },
  sale_over: { message: () => 'the sale is over', do: () => 'Copy it to another slot' },
  sale_paused: { message: () => 'the sale is paused, so buys are rejected', do: () => 'Resume it' },
  product_archived: {
    message: () => 'the product is archived',
    do: () => 'Restore the product, or archive the sale',
  },
  no_picture: { message: () => 'the product has no picture', do: () => 'Upload a picture' },
  price_not_below: {
    message: (of) =>
      `the sale price, ${of('price_fen')}, is not below the list price, ${of('list_price_fen')}`,
    do: () => 'Check both prices',
  },
  limit_above_stock: {
    message: () => 'the limit per buyer exceeds the stock',
    do: () => 'Lower the limit',
  },
  offered: {
    message: (of) =>
      `${of('product')} at ${of('price_fen')}; units: ${of('units')}; limit per buyer: ${of('limit')}`,
  },
  loaded_later: { message: () => 'the sale is loaded five minutes before it opens' },
  not_loaded_yet: { message: () => 'the sale is not loaded yet', do: () => 'Check again in a minute' },
  not_loaded: {
    message: () => 'the sale is not loaded',
    do: () => 'Check that a node with the role api runs. Search its log for warming up',
  },
  stock_differs: {
    message: (of) =>
      `units in Redis: ${of('redis_initial')} + ${of('redis_added')}; units in the database: ${of('initial')} + ${of('added')}`,
    do: () => 'Run stampede audit',
  },
  stock_loaded: { message: (of) => `units: ${of('stock')} free, ${of('held')} held, ${of('sold')} sold` },
  partition_missing: { message: (of) => `partition ${of('partition')} is not in Redis`, do: recover },
  partition_rebuilding: { message: (of) => `partition ${of('partition')} is being recovered`, do: recover },
  epochs_differ: {
    message: (of) =>
      `partition ${of('partition')} is at epoch ${of('redis')} in Redis and ${of('database')} in the database`,
    do: recover,
  },
  partition_fits: { message: (of) => `partition ${of('partition')} is at epoch ${of('epoch')}` },
  writes_rejected: {
    message: (of) => `partition ${of('partition')} rejects writes, so buys are rejected`,
    do: () => 'Check that the disk and the memory of Redis are not full',
  },
  backlog_full: {
    message: (of) =>
      `reservations that wait for the database: ${of('waiting')}; at ${of('most')}, buys are rejected`,
    do: workers,
  },
  backlog_grows: {
    message: (of) => `reservations that wait for the database: ${of('waiting')}`,
    do: workers,
  },
  dead_letters: {
    message: (of) => `dead letters of the partition that need a decision: ${of('dead')}`,
    do: () => 'Run stampede dead list',
  },
  backlog_fits: { message: (of) => `reservations that wait for the database: ${of('waiting')}` },
  no_node: {
    message: (of) => `no node ${duty(of)}`,
    do: (of) => `Start a node with the role ${of('role')}`,
  },
  one_node: {
    message: (of) => `only ${of('node')} ${duty(of)}`,
    do: (of) => `Start another node with the role ${of('role')}, so that one can fail`,
  },
  nodes: { message: (of) => `${of('nodes')} nodes: each ${duty(of)}` },
  clocks_apart: {
    message: (of) => `the clocks of Redis, the database and this node differ by ${of('apart_ms')}`,
    do: () => 'Synchronize all machines with a time server. The clock of Redis decides when a sale opens',
  },
  clocks_agree: {
    message: (of) => `the clocks of Redis, the database and this node differ by ${of('apart_ms')}`,
  },
  no_gateway: {
    message: () => 'no payment gateway is set, so orders cannot be paid',
    do: () => 'Set STAMPEDE_ALIPAY_APP_ID and the related settings',
  },
  gateway_silent: {
    message: () => 'the payment gateway does not respond',
    do: () => 'Check that this node can reach the gateway',
  },
  gateway_refuses: { message: () => 'the payment gateway responds, but rejects the queries', do: config },
  gateway_answers: { message: () => 'the payment gateway responds' },
  no_mail_server: {
    message: () => 'no mail server is set; e-mails are written to files',
    do: () => 'Set STAMPEDE_SMTP_URL',
  },
  mails_dead: {
    message: (of) => `e-mails that could not be sent: ${of('dead')}`,
    do: () => 'Run stampede mail list',
  },
  mails_sent: { message: () => 'a mail server is set, and all e-mails were sent' },
  embedded: {
    message: () =>
      'embedded stores are for tests only; a crash loses reservations that are not in the database',
    do: () => 'Use Redis and MySQL for a real sale',
  },
  setting_weak: {
    message: (of) => `${of('store')}: ${of('setting')} is ${of('is')}, so a crash may lose confirmed data`,
    do: (of) => `Set it to ${of('want')}. Run stampede checkconfig for details`,
  },
  setting_unknown: {
    message: (of) => `${of('store')}: cannot read ${of('setting')}`,
    do: (of) => `Make sure that it is ${of('want')}`,
  },
  log_not_written: { message: () => 'Redis: the last write of the log failed', do: disk },
  log_not_rewritten: {
    message: () => 'Redis: the last rewrite of the log failed, so the log grows',
    do: disk,
  },
  no_replica: {
    message: () =>
      'Redis has no replica; if its disk fails, reservations that are not in the database are lost',
    do: () => 'Add a replica to Redis, and back up its disk',
  },
  no_binary_log: {
    message: () => 'MySQL has no binary log; a backup can be restored only to its own time',
    do: () => 'Set log_bin, and back up the log with the data',
  },
  durable: { message: () => 'both stores keep all confirmed data' },
}
