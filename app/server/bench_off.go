//go:build !bench

package server

import (
	"stampede/app/order"
	"stampede/streams"
)

// A build for benchmarks can also work the simple way, to be compared with. This one cannot.

func armBench(map[string]string) {}

func (p *parts) decider() order.Gate { return p.gate }

func (p *parts) consumers(partition int) []*streams.Consumer {
	o := streams.ConsumerOptions{Workers: p.workers}
	return []*streams.Consumer{streams.NewConsumer(p.inventory, partition, nodeName(p.lease), p.fulfiller, o)}
}
