// Package streams stores the state of the sales in Redis: the stock, the order log and the delay queue.
//
// One Lua script decides buys (lua/reserve.lua). The [Gate] runs it for all buys that wait for the same sale. An
// accepted buy is an entry of the partition's stream until a [Consumer] has its row written. The deadline of an unpaid
// order is a member of a sorted set, which the [Sweeper] empties. [Inventory] has all other Redis operations of the
// flows.
//
//	keys.go                             every key: type, lifetime, writers
//	script.go, lua/                     the scripts, each with its contract in the header
//	gate*.go                            buys, grouped per sale
//	streams.go, stock*.go, waiting.go   the inventory for flows
//	state.go, seen.go, recover.go        reads and writes of a recovery
//	consumer*.go, dead.go               entries: delivery, retries, dead letters
//	workers.go                          assignment of partitions to workers
//	queue*.go, paid.go, mail.go         delivery of postings and e-mails
//	deadline.go                         delivery of deadlines
//	upkeep.go                           correct XINFO, bounded streams
//	metrics.go, stats.go, viewers.go    numbers for operators and pages
//
// Redis 7 and miniredis run the same scripts.
package streams
