// Package streams stores the state of the sales in Redis: the stock, the order log and the delay queue.
//
// The Lua script lua/reserve.lua decides buys. The [Gate] runs it once for all waiting buys of a sale. An accepted buy
// is an entry of the partition's stream. A [Consumer] passes the entry to its handler, which writes the row of the
// order. The deadline of an unpaid order is a member of a sorted set. The [Sweeper] passes due orders to their handler.
// [Inventory] hands out the other operations by subject.
//
//	keys.go                             every key: type, lifetime, writers
//	script.go, lua/                     the scripts, each with its contract in the header
//	gate*.go                            buys, grouped per sale
//	streams.go, inventory.go            the connection and its subjects
//	stock*.go, buyers.go                [Stock]: holds, counters, terms and buyers of a sale
//	waiting.go, finish.go, publish.go   [Queue], [Sequences]: reservations without a row, published changes
//	state.go, seen.go, recover.go       [Recovery]
//	consumer*.go, dead.go               entries: delivery, retries, dead letters
//	workers.go                          assignment of partitions to workers
//	queue*.go, paid.go, mail.go         delivery of postings and e-mails
//	deadline.go                         delivery of deadlines
//	upkeep.go                           repair of XINFO, trimming of streams
//	metrics.go, stats.go, viewers.go    numbers for operators and pages
//
// Redis 7 and miniredis run the same scripts.
package streams
