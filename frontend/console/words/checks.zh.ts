import type { CheckWords, Value } from './checks.en'

const stores = (): string => '检查存储是否应答：stampede checkconfig，以及该节点的日志'
const recover = (): string => '等待恢复（几秒钟）；若迟迟不结束，请在日志中查找 check partitions'
const workers = (): string => 'stampede status；检查 worker 是否在运行、数据库在做什么'
const disk = (): string => '检查它的磁盘是否已满'
const config = (): string => 'stampede checkconfig'

const duties: Record<string, string> = { api: '接待买家', worker: '写入订单', sweeper: '终止未付款订单' }
const duty = (of: Value): string => duties[of('role')] ?? of('role')
const parts: Record<string, string> = {
  'the stock': '库存',
  'the partition': '分区',
  'the epoch of the partition': '分区的纪元',
  'the backlog': '积压',
  'which nodes there are': '节点列表',
  'the clock of Redis': 'Redis 的时钟',
  'the clock of the database': '数据库的时钟',
  mails: '邮件',
  'how durable the stores are': '存储的持久性',
}

/** The Chinese version of checks.en.ts. */
export const checksZh: Record<string, CheckWords> = {
  unread: { says: (of) => `现在读不到${parts[of('what')] ?? ` ${of('what')}`}`, do: stores },
  sale_archived: { says: () => '场次商品已归档，没有人能看到', do: () => '恢复它' },
  sale_over: { says: () => '销售已经结束', do: () => '把它复制到另一个场次' },
  sale_paused: { says: () => '销售已暂停，没有人能购买', do: () => '恢复销售' },
  product_archived: { says: () => '商品已归档', do: () => '恢复商品，或归档这次销售' },
  no_picture: { says: () => '商品没有图片', do: () => '上传一张图片' },
  price_not_below: {
    says: (of) => `秒杀价 ${of('price_fen')} 不低于标价 ${of('list_price_fen')}`,
    do: () => '核对两个价格',
  },
  limit_above_stock: { says: () => '每人限购数多于现有件数', do: () => '降低限购数' },
  offered: {
    says: (of) => `${of('product')}，${of('price_fen')}，共 ${of('units')} 件，每人限购 ${of('limit')} 件`,
  },
  loaded_later: { says: () => '开始前五分钟载入' },
  not_loaded_yet: { says: () => '还没有载入', do: () => '一分钟后再看' },
  not_loaded: {
    says: () => '没有载入',
    do: () => '检查是否有 api 角色的节点在运行，以及它的日志对预热说了什么',
  },
  stock_differs: {
    says: (of) =>
      `Redis 有 ${of('redis_initial')} + ${of('redis_added')} 件，数据库有 ${of('initial')} + ${of('added')} 件`,
    do: () => 'stampede audit',
  },
  stock_loaded: {
    says: (of) => `可购 ${of('stock')} 件，占用 ${of('held')} 件，已售 ${of('sold')} 件`,
  },
  partition_missing: { says: (of) => `分区 ${of('partition')} 不在 Redis 中`, do: recover },
  partition_rebuilding: { says: (of) => `分区 ${of('partition')} 正在恢复`, do: recover },
  epochs_differ: {
    says: (of) =>
      `分区 ${of('partition')} 在 Redis 中的纪元是 ${of('redis')}，在数据库中是 ${of('database')}`,
    do: recover,
  },
  partition_fits: { says: (of) => `分区 ${of('partition')} 的纪元是 ${of('epoch')}` },
  writes_rejected: {
    says: (of) => `分区 ${of('partition')} 拒绝写入，无法抢购`,
    do: () => '检查 Redis 的磁盘或内存是否已满',
  },
  backlog_full: {
    says: (of) => `${of('waiting')} 个预留在等待数据库；达到 ${of('most')} 个时购买会被拒绝`,
    do: workers,
  },
  backlog_grows: { says: (of) => `${of('waiting')} 个预留在等待数据库`, do: workers },
  dead_letters: {
    says: (of) => `该分区有 ${of('dead')} 个订单无法写入，等待处理`,
    do: () => 'stampede dead list',
  },
  backlog_fits: { says: (of) => `${of('waiting')} 个预留在等待数据库` },
  no_node: {
    says: (of) => `没有节点${duty(of)}`,
    do: (of) => `启动一个角色为 ${of('role')} 的节点`,
  },
  one_node: {
    says: (of) => `只有 ${of('node')} 在${duty(of)}`,
    do: (of) => `再启动一个角色为 ${of('role')} 的节点，以防其中一个停机`,
  },
  nodes: { says: (of) => `${of('nodes')} 个节点在${duty(of)}` },
  clocks_apart: {
    says: (of) => `Redis、数据库和本节点的时钟相差 ${of('apart_ms')}`,
    do: () => '让所有机器与时间服务器同步；开始时间以 Redis 的时钟为准',
  },
  clocks_agree: { says: (of) => `Redis、数据库和本节点的时钟相差 ${of('apart_ms')}` },
  no_gateway: {
    says: () => '无法付款：没有支付网关',
    do: () => '设置 STAMPEDE_ALIPAY_APP_ID 及相关变量',
  },
  gateway_silent: { says: () => '支付网关没有应答', do: () => '检查从这里能否连到支付网关' },
  gateway_refuses: { says: () => '支付网关有应答，但拒绝查询', do: config },
  gateway_answers: { says: () => '支付网关有应答' },
  no_mail_server: { says: () => '没有邮件服务器：信件只写成文件', do: () => '设置 STAMPEDE_SMTP_URL' },
  mails_dead: { says: (of) => `${of('dead')} 封信件无法发出`, do: () => 'stampede mail list' },
  mails_sent: { says: () => '已设置邮件服务器，所有信件都已发出' },
  embedded: {
    says: () => '内嵌存储只供试用：崩溃会丢失还没有写入数据库的预留',
    do: () => '正式销售请使用 Redis 和 MySQL',
  },
  setting_weak: {
    says: (of) => `${of('store')}：${of('setting')} 为 ${of('is')}，崩溃可能丢失已应答的内容`,
    do: (of) => `把它设为 ${of('want')}；详见 stampede checkconfig`,
  },
  setting_unknown: {
    says: (of) => `${of('store')}：读不到 ${of('setting')}`,
    do: (of) => `请确认它是 ${of('want')}`,
  },
  log_not_written: { says: () => 'Redis：上一次写日志失败', do: disk },
  log_not_rewritten: { says: () => 'Redis：上一次重写失败，日志会不断变大', do: disk },
  no_replica: {
    says: () => 'Redis 没有副本：磁盘一旦损坏，还没有写入数据库的预留就会丢失',
    do: () => '给 Redis 配一个副本，并备份它的磁盘',
  },
  no_binary_log: {
    says: () => 'MySQL 没有二进制日志：备份只能恢复到备份的时刻',
    do: () => '设置 log_bin，并把日志和数据一起备份',
  },
  durable: { says: () => '两个存储都会保住已应答的内容' },
}
