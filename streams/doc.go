// Package streams is the state of the sales in Redis: the stock, the order log and the delay queue.
//
// A buy is decided by one Lua step (lua/reserve.lua) that the [Gate] runs for whatever waits for the same sale. What it
// accepts is an entry of the partition's stream until a [Consumer] has seen it become a row. An unpaid order's deadline
// is a member of a sorted set that the [Sweeper] empties. [Inventory] is everything else that flows ask of Redis.
//
//	keys.go                             every key: type, life, writers
//	script.go, lua/                     the scripts, each with its contract in the header
//	gate*.go                            buys, grouped per sale
//	streams.go, stock*.go, waiting.go   the inventory for flows
//	look.go, seen.go, recover.go        what a recovery reads and writes
//	consumer*.go, dead.go               entries to their handler and to their end
//	workers.go                          which worker waits on which partition
//	queue*.go, paid.go, mail.go         postings and e-mails to their receivers
//	deadline.go                         deadlines to their handler
//	upkeep.go                           correct XINFO, bounded streams
//	metrics.go, stats.go, viewers.go    numbers for people
//
// Redis 7 and miniredis run the same scripts.
package streams
