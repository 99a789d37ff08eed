//go:build bench

package server

import (
	"fmt"

	"stampede/app/order"
	"stampede/streams"
)

// simpleConnections is how many rows are written at the same time, one per transaction.
const simpleConnections = 16

// simple makes the node work the way that the grouped one is compared with: one script call per buy, one row per
// transaction.
var simple bool

// armBench reads STAMPEDE_BENCH_SIMPLE.
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
