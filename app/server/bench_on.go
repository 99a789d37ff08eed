//go:build bench

package server

import (
	"fmt"

	"stampede/app/order"
	"stampede/streams"
)

// simpleConnections is the number of concurrent row writes, one per transaction.
const simpleConnections = 16

// simpleGate selects the baseline of the benchmarks: one script call per buy and one row per transaction, without
// grouping.
var simpleGate bool

// setBenchMode reads STAMPEDE_BENCH_SIMPLE and removes it from vars.
func setBenchMode(vars map[string]string) {
	simpleGate = vars["BENCH_SIMPLE"] == "true"
	delete(vars, "BENCH_SIMPLE")
}

func (p *parts) checkoutGate() order.Gate {
	if simpleGate {
		return streams.NewSingleGate(p.inventory)
	}
	return p.gate
}

func (p *parts) consumers(partition int) []*streams.Consumer {
	n, o := 1, streams.ConsumerOptions{}
	if simpleGate {
		n, o.Batch = max(1, simpleConnections/p.inventory.Partitions()), 1
	}
	all := make([]*streams.Consumer, n)
	for i := range all {
		all[i] = streams.NewConsumer(p.inventory, partition, fmt.Sprintf("%s.%d", nodeName(p.lease), i), p.fulfiller, o)
	}
	return all
}
