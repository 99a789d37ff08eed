import type { CheckWords, Value } from './checks.en'

const stores = (): string => '检查存储是否响应：运行 stampede checkconfig，并查看该节点的日志'
const recover = (): string => '等待恢复，通常需要几秒。如果未结束，请在日志中查找 check partitions'
const workers = (): string => '运行 stampede status，检查 worker 是否在运行，并检查数据库'
const disk = (): string => '检查它的磁盘是否已满'
const config = (): string => '运行 stampede checkconfig'

const duties: Record<string, string> = {
  api: '处理买家请求',
  worker: '写入订单',
  sweeper: '关闭超时未支付订单',
}
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
  unread: { message: (of) => `暂时无法读取${parts[of('what')] ?? ` ${of('what')}`}`, do: stores },
  sale_archived: { message: () => '活动已归档，买家看不到', do: () => '恢复活动' },
  sale_over: { message: () => '活动已结束', do: () => '将活动复制到其他场次' },
  sale_paused: { message: () => '活动已暂停，无法抢购', do: () => '继续活动' },
  product_archived: { message: () => '商品已归档', do: () => '恢复商品，或归档该活动' },
  no_picture: { message: () => '商品没有图片', do: () => '上传一张图片' },
  price_not_below: {
    message: (of) => `秒杀价 ${of('price_fen')} 不低于原价 ${of('list_price_fen')}`,
    do: () => '核对两个价格',
  },
  limit_above_stock: { message: () => '每人限购数量超过库存', do: () => '降低限购数量' },
  offered: {
    message: (of) => `${of('product')}，${of('price_fen')}，共 ${of('units')} 件，每人限购 ${of('limit')} 件`,
  },
  loaded_later: { message: () => '活动在开始前五分钟载入' },
  not_loaded_yet: { message: () => '活动尚未载入', do: () => '一分钟后重新检查' },
  not_loaded: {
    message: () => '活动未载入',
    do: () => '检查是否有 api 角色的节点在运行，并在其日志中查找 warming up',
  },
  stock_differs: {
    message: (of) =>
      `Redis 有 ${of('redis_initial')} + ${of('redis_added')} 件，数据库有 ${of('initial')} + ${of('added')} 件`,
    do: () => '运行 stampede audit',
  },
  stock_loaded: {
    message: (of) => `可售 ${of('stock')} 件，占用 ${of('held')} 件，已售 ${of('sold')} 件`,
  },
  partition_missing: { message: (of) => `分区 ${of('partition')} 不在 Redis 中`, do: recover },
  partition_rebuilding: { message: (of) => `分区 ${of('partition')} 正在恢复`, do: recover },
  epochs_differ: {
    message: (of) =>
      `分区 ${of('partition')} 在 Redis 中的纪元是 ${of('redis')}，在数据库中是 ${of('database')}`,
    do: recover,
  },
  partition_fits: { message: (of) => `分区 ${of('partition')} 的纪元是 ${of('epoch')}` },
  writes_rejected: {
    message: (of) => `分区 ${of('partition')} 拒绝写入，无法抢购`,
    do: () => '检查 Redis 的磁盘或内存是否已满',
  },
  backlog_full: {
    message: (of) => `${of('waiting')} 个预占等待写入数据库；达到 ${of('most')} 个时拒绝抢购`,
    do: workers,
  },
  backlog_grows: { message: (of) => `${of('waiting')} 个预占等待写入数据库`, do: workers },
  dead_letters: {
    message: (of) => `该分区有 ${of('dead')} 个订单无法写入，等待处理`,
    do: () => '运行 stampede dead list',
  },
  backlog_fits: { message: (of) => `${of('waiting')} 个预占等待写入数据库` },
  no_node: {
    message: (of) => `没有节点负责${duty(of)}`,
    do: (of) => `启动一个角色为 ${of('role')} 的节点`,
  },
  one_node: {
    message: (of) => `只有 ${of('node')} 负责${duty(of)}`,
    do: (of) => `再启动一个角色为 ${of('role')} 的节点，以防其中一个故障`,
  },
  nodes: { message: (of) => `${of('nodes')} 个节点负责${duty(of)}` },
  clocks_apart: {
    message: (of) => `Redis、数据库和本节点的时钟相差 ${of('apart_ms')}`,
    do: () => '让所有机器与时间服务器同步；开始时间以 Redis 的时钟为准',
  },
  clocks_agree: { message: (of) => `Redis、数据库和本节点的时钟相差 ${of('apart_ms')}` },
  no_gateway: {
    message: () => '未设置支付网关，订单无法支付',
    do: () => '设置 STAMPEDE_ALIPAY_APP_ID 及相关变量',
  },
  gateway_silent: { message: () => '支付网关没有响应', do: () => '检查该节点能否连接支付网关' },
  gateway_refuses: { message: () => '支付网关有响应，但拒绝查询', do: config },
  gateway_answers: { message: () => '支付网关有响应' },
  no_mail_server: { message: () => '未设置邮件服务器，邮件写入文件', do: () => '设置 STAMPEDE_SMTP_URL' },
  mails_dead: { message: (of) => `${of('dead')} 封邮件无法发送`, do: () => '运行 stampede mail list' },
  mails_sent: { message: () => '已设置邮件服务器，所有邮件均已发送' },
  embedded: {
    message: () => '内嵌存储仅供测试：崩溃会丢失尚未写入数据库的预占',
    do: () => '正式活动请使用 Redis 和 MySQL',
  },
  setting_weak: {
    message: (of) => `${of('store')}：${of('setting')} 为 ${of('is')}，崩溃可能丢失已确认的数据`,
    do: (of) => `将其设为 ${of('want')}；详见 stampede checkconfig`,
  },
  setting_unknown: {
    message: (of) => `${of('store')}：无法读取 ${of('setting')}`,
    do: (of) => `请确认它是 ${of('want')}`,
  },
  log_not_written: { message: () => 'Redis：上一次写入日志失败', do: disk },
  log_not_rewritten: { message: () => 'Redis：上一次重写日志失败，日志不断增大', do: disk },
  no_replica: {
    message: () => 'Redis 没有副本：磁盘损坏时，尚未写入数据库的预占会丢失',
    do: () => '为 Redis 添加副本，并备份其磁盘',
  },
  no_binary_log: {
    message: () => 'MySQL 没有二进制日志：备份只能恢复到备份时刻',
    do: () => '设置 log_bin，并将日志与数据一起备份',
  },
  durable: { message: () => '两个存储都会保留已确认的数据' },
}
