//go:build bench

package server

import (
	"fmt"

	"stampede/app/order"
	"stampede/streams"
)

// simpleConnections is the number of concurrent row writes, one per transaction.
const simpleConnections = 16

// simple selects the baseline of the benchmarks: one script call per buy and one row per transaction, without grouping.
var simple bool

// armBench reads STAMPEDE_BENCH_SIMPLE and removes it from vars.
func armBench(vars map[string]string) {
	simple = vars["BENCH_SIMPLE"] == "true"
	delete(vars, "BENCH_SIMPLE")
}

func (p *parts) decider() order.Gate {
	if simple {
		return streams.NewSingleGate(p.inventory)
	}
	return p.gate
}

func (p *parts) consumers(partition int) []*streams.Consumer {
	n, o := 1, streams.ConsumerOptions{}
	if simple {
		n, o.Batch = max(1, simpleConnections/p.inventory.Partitions()), 1
	}
	all := make([]*streams.Consumer, n)
	for i := range all {
		all[i] = streams.NewConsumer(p.inventory, partition, fmt.Sprintf("%s.%d", nodeName(p.lease), i), p.fulfiller, o)
	}
	return all
}
