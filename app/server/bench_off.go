//go:build !bench

package server

import (
	"net/http"

	"stampede/app"
	"stampede/streams"
)

// A build for benchmarks can also work the simple way, to be compared with, and shows profiles. This one does neither.

func armBench(map[string]string) {}

func (w *works) decider() app.Gate { return w.gate }

func (w *works) consumers(partition int) []*streams.Consumer {
	return []*streams.Consumer{streams.NewConsumer(w.ledger, partition, nodeName(w.lease), w.fulfiller, streams.ConsumerOptions{})}
}

func showProfiles(*http.ServeMux) {}
