// Package streams is the state of the sales in Redis: the stock, the order log and the delay queue.
//
// A buy is decided by one Lua step (lua/reserve.lua) that the [Gate] runs for whatever waits for the same sale. What it
// accepts is an entry of the partition's stream until a [Consumer] has seen it become a row. An unpaid order's
// deadline is a member of a sorted set that the [Sweeper] empties. [Ledger] is everything else that flows ask of Redis.
//
// Where things live:
//
//	keys.go            every key: builder, type, life, owner
//	script.go lua/     the scripts, each with its contract in the header, and what their codes mean
//	gate.go lane.go    buys, grouped per sale
//	ledger.go …        the ports app.Ledger and app.Rebuilder
//	consumer.go …      entries to their handler, and their end: settled or dead
//	deadline.go        deadlines to their handler
//	lagkeeper.go trim.go   what keeps XINFO truthful and the streams bounded
//
// Redis 7 and miniredis run the same scripts.
package streams
