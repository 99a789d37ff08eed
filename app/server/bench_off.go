//go:build !bench

package server

import (
	"stampede/app/order"
	"stampede/streams"
)

// Builds with the tag bench also have a simple mode for comparison. This build does not have it.

func setBenchMode(map[string]string) {}

func (p *parts) checkoutGate() order.Gate { return p.gate }

func (p *parts) consumers(partition int) []*streams.Consumer {
	o := streams.ConsumerOptions{Workers: p.workers}
	return []*streams.Consumer{streams.NewConsumer(p.inventory, partition, nodeName(p.lease), p.fulfiller, o)}
}
