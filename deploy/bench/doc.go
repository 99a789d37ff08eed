// Command bench measures Stampede and simple baselines in turns, in the same run on the same machine, and writes the
// results. deploy/load/round-N.json has the raw figures of each round, deploy/load/RESULTS.md the table of all rounds.
// deploy/scripts/bench.sh builds the programs and starts private stores.
//
// Each round uses a fresh shop, with its own database and its own Redis database. The steps of a round, in order:
//
//	micro      gate, fulfilment and fan-out as Go benchmarks, each with its baseline
//	orders     complete orders in a fresh shop: memory and log of Redis per order
//	sockets    time, buy, soldout, burst over 10,000 sockets; then buy on a node with one script call per buy; buys
//	           with and without a flood of forged payment notifications, and of log ins
//	chain      complete orders at full and at half speed; then on a node that handles each buy and order separately
//	crowd      buys with 1,000 and with 18,000 sockets; then 18,000 sockets: memory, ticks, reconnects after a drop
//
// The buys of `sockets` go to nodes with the role api alone, so that the step measures reservations only. A node with
// all roles then turns the waiting reservations into orders before the round continues. A failed check ends the run.
package main
