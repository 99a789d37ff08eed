//go:build bench

package server

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"stampede/app"
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

func (w *works) decider() app.Gate {
	if simple {
		return streams.NewSingleGate(w.ledger)
	}
	return w.gate
}

func (w *works) consumers(partition int) []*streams.Consumer {
	n, o := 1, streams.ConsumerOptions{}
	if simple {
		n, o.Batch = max(1, simpleConnections/w.ledger.Partitions()), 1
	}
	all := make([]*streams.Consumer, n)
	for i := range all {
		all[i] = streams.NewConsumer(w.ledger, partition, fmt.Sprintf("%s.%d", nodeName(w.lease), i), w.fulfiller, o)
	}
	return all
}

// showProfiles shows where time and memory go, beside the metrics.
func showProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
}
