//go:build !bench

package server

import (
	"stampede/app/order"
	"stampede/streams"
)

// Builds with the tag bench can also run the simple mode for comparison. This build cannot.

func setBenchMode(map[string]string) {}

func (p *parts) checkoutGate() order.Gate { return p.gate }

func (p *parts) consumers(partition int) []*streams.Consumer {
	o := streams.ConsumerOptions{Workers: p.workers}
	return []*streams.Consumer{streams.NewConsumer(p.inventory, partition, nodeName(p.lease), p.fulfiller, o)}
}
