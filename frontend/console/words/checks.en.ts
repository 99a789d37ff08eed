/** Formats a value of a finding, by name. */
export type Value = (name: string) => string

/** The text of a finding, and an action unless the finding implies it. */
export interface CheckWords {
  readonly says: (of: Value) => string
  readonly do?: (of: Value) => string
}

const stores = (): string => 'See whether the stores answer: stampede checkconfig, and the log of the node'
const recover = (): string =>
  'Wait for the recovery, which takes seconds; if it does not end, see the log for ‘check partitions’'
const workers = (): string => 'stampede status; see whether workers run and what the database does'
const disk = (): string => 'See whether its disk is full'
const config = (): string => 'stampede checkconfig'

const duties: Record<string, string> = {
  api: 'answers shoppers',
  worker: 'writes orders',
  sweeper: 'ends unpaid orders',
}
const duty = (of: Value): string => duties[of('role')] ?? of('role')

/** The findings of a sale's readiness checks, by the server's codes; checks.zh.ts has the same codes. */
export const checksEn: Record<string, CheckWords> = {
  unread: { says: (of) => `${of('what')} cannot be read right now`, do: stores },
  sale_archived: { says: () => 'the sale is archived, so nobody sees it', do: () => 'Bring it back' },
  sale_over: { says: () => 'the sale is over', do: () => 'Copy it into another slot' },
  sale_paused: { says: () => 'the sale is paused, so nobody can buy', do: () => 'Resume it' },
  product_archived: {
    says: () => 'the product is archived',
    do: () => 'Bring the product back, or archive the sale',
  },
  no_picture: { says: () => 'the product has no picture', do: () => 'Upload a picture' },
  price_not_below: {
    says: (of) => `the sale price, ${of('price_fen')}, is not below the list price, ${of('list_price_fen')}`,
    do: () => 'Look at both prices',
  },
  limit_above_stock: {
    says: () => 'one buyer may have more units than there are',
    do: () => 'Lower the limit',
  },
  offered: {
    says: (of) =>
      `${of('product')} at ${of('price_fen')}, ${of('units')} units, at most ${of('limit')} for a buyer`,
  },
  loaded_later: { says: () => 'it is loaded five minutes before it opens' },
  not_loaded_yet: { says: () => 'it is not loaded yet', do: () => 'Look again in a minute' },
  not_loaded: {
    says: () => 'it is not loaded',
    do: () => 'See whether a node with the role api runs, and what its log says of warming up',
  },
  stock_differs: {
    says: (of) =>
      `Redis has ${of('redis_initial')} + ${of('redis_added')} units, the database ${of('initial')} + ${of('added')}`,
    do: () => 'stampede audit',
  },
  stock_loaded: { says: (of) => `${of('stock')} units are free, ${of('held')} held, ${of('sold')} sold` },
  partition_missing: { says: (of) => `partition ${of('partition')} is not in Redis`, do: recover },
  partition_rebuilding: { says: (of) => `partition ${of('partition')} is being recovered`, do: recover },
  epochs_differ: {
    says: (of) =>
      `partition ${of('partition')} is at epoch ${of('redis')} in Redis and ${of('database')} in the database`,
    do: recover,
  },
  partition_fits: { says: (of) => `partition ${of('partition')} is at epoch ${of('epoch')}` },
  writes_rejected: {
    says: (of) => `partition ${of('partition')} rejects writes, so nobody can buy`,
    do: () => 'See whether the disk or the memory of Redis is full',
  },
  backlog_full: {
    says: (of) =>
      `${of('waiting')} reservations wait for the database; at ${of('most')} buys are turned away`,
    do: workers,
  },
  backlog_grows: { says: (of) => `${of('waiting')} reservations wait for the database`, do: workers },
  dead_letters: {
    says: (of) => `${of('dead')} orders of the partition could not be written and wait for a decision`,
    do: () => 'stampede dead list',
  },
  backlog_fits: { says: (of) => `${of('waiting')} reservations wait for the database` },
  no_node: {
    says: (of) => `nobody ${duty(of)}`,
    do: (of) => `Start a node with the role ${of('role')}`,
  },
  one_node: {
    says: (of) => `only ${of('node')} ${duty(of)}`,
    do: (of) => `Start another node with the role ${of('role')}, so that one can die`,
  },
  nodes: { says: (of) => `${of('nodes')} nodes: each ${duty(of)}` },
  clocks_apart: {
    says: (of) => `the clocks of Redis, the database and this node are ${of('apart_ms')} apart`,
    do: () => 'Let all machines follow a time server; the clock of Redis decides when a sale opens',
  },
  clocks_agree: {
    says: (of) => `the clocks of Redis, the database and this node are ${of('apart_ms')} apart`,
  },
  no_gateway: {
    says: () => 'nothing can be paid: there is no gateway',
    do: () => 'Set STAMPEDE_ALIPAY_APP_ID and what belongs to it',
  },
  gateway_silent: {
    says: () => 'the payment gateway does not answer',
    do: () => 'See whether the gateway can be reached from here',
  },
  gateway_refuses: { says: () => 'the payment gateway answers, but refuses to be asked', do: config },
  gateway_answers: { says: () => 'the payment gateway answers' },
  no_mail_server: {
    says: () => 'there is no mail server: letters are files',
    do: () => 'Set STAMPEDE_SMTP_URL',
  },
  mails_dead: { says: (of) => `${of('dead')} letters could not be sent`, do: () => 'stampede mail list' },
  mails_sent: { says: () => 'a mail server is set, and every letter was sent' },
  embedded: {
    says: () => 'embedded stores are for trying out: a crash loses reservations without a row',
    do: () => 'Use Redis and MySQL for a real sale',
  },
  setting_weak: {
    says: (of) => `${of('store')}: ${of('setting')} is ${of('is')}, and a crash may lose what was answered`,
    do: (of) => `Set it to ${of('want')}; stampede checkconfig says more`,
  },
  setting_unknown: {
    says: (of) => `${of('store')}: ${of('setting')} cannot be read`,
    do: (of) => `Make sure that it is ${of('want')}`,
  },
  log_not_written: { says: () => 'Redis: the last write of its log failed', do: disk },
  log_not_rewritten: { says: () => 'Redis: its last rewrite failed, so its log grows', do: disk },
  no_replica: {
    says: () => 'Redis has no replica: with its disk, reservations without a row would be lost',
    do: () => 'Give Redis a replica, and keep its disk in the backup',
  },
  no_binary_log: {
    says: () => 'MySQL keeps no binary log: a backup can be restored to its own instant only',
    do: () => 'Set log_bin, and back up the log with the data',
  },
  durable: { says: () => 'both stores keep what they have answered' },
}
