// Command bench measures Stampede against the simple ways of doing the same, in the same run, on the same machine, in
// turns, and writes what it found: deploy/load/round-N.json has the raw figures of each round, deploy/load/RESULTS.md
// the table that is made of them. deploy/scripts/bench.sh builds what it needs and gives it private stores.
//
// A round is a fresh shop: a database and a Redis of its own. It goes through
//
//	micro      gate, fulfilment and fan-out inside a Go benchmark, each beside its baseline
//	orders     the whole way in a fresh shop: what an order takes of Redis
//	sockets    time, buy, soldout, burst over 10,000 sockets; then buy again on a node with one script call per buy;
//	           buys with and without a flood of forged payment notifications, and of log ins
//	chain      the whole way, as fast as it goes and at half of that; then on a node that does everything one by one
//	crowd      18,000 sockets: memory, ticks, buys, everybody back after a drop; buys with 1,000 sockets beside it
//
// Nodes with the role api alone take the buys of `sockets`, so that what is measured is the reservation; a node with
// all roles then turns what is waiting into orders before the round goes on. A check that fails ends the run.
package main
