package main

import (
	"bytes"
	"fmt"
	"math"
)

// What the extrapolation is for, and what it assumes beyond the measured figures.
const (
	targetSockets = 1_000_000.0
	targetBuys    = 100_000.0 // a second
	targetTicks   = 5.0       // a second and socket
	targetBurst   = 10.0      // seconds that the buys last

	busyShare  = 0.6   // of a processor or of memory, planned to be used
	nodeCores  = 8.0   // of the machine that is counted with
	nodeMemory = 16.0  // GB
	nodePrice  = 0.34  // USD an hour
	tickWire   = 220.0 // bytes of a tick of one sale on the wire, TCP, IP and TLS record included
	orderWire  = 800.0 // bytes of a buy, its answer and its event
	rowBytes   = 600.0 // bytes that the database writes for a row: row, indexes, redo
	egressUSD  = 0.09  // per GB to the internet
)

// scale is what was measured, as the extrapolation needs it.
type scale struct {
	socketKB, frameMicros, orderMicros  float64
	redisMicros, redisBytes, rowsPerSec float64
}

func measured(rounds []Round) scale {
	return scale{
		socketKB:    median(figure("crowd", "idle", "kb_per_socket"), rounds),
		frameMicros: median(figure("crowd", "fanout", "server_cpu_us_per_frame"), rounds),
		orderMicros: median(figure("chain", "chain", "server_cpu_us_per_op"), rounds),
		redisMicros: median(func(r *Round) float64 { return r.RedisMicrosPerOrder }, rounds),
		redisBytes:  median(func(r *Round) float64 { return r.RedisBytesPerOrder }, rounds),
		rowsPerSec:  median(micro("Fulfil", "grouped/s"), rounds),
	}
}

// extrapolate makes SCALE.md of the rounds.
func extrapolate(rounds []Round) []byte {
	s := measured(rounds)
	frames := targetSockets * targetTicks
	tickCores := frames * s.frameMicros / 1e6
	buyCores := targetBuys * s.orderMicros / 1e6
	memory := targetSockets * s.socketKB / (1 << 20)
	byCores := math.Ceil((tickCores + buyCores) / busyShare / nodeCores)
	byMemory := math.Ceil(memory / busyShare / nodeMemory)
	nodes := max(byCores, byMemory)
	redisCores := targetBuys * s.redisMicros / 1e6
	shards := math.Ceil(redisCores / busyShare)
	orders := targetBuys * targetBurst
	redisGB := orders * s.redisBytes / (1 << 30)
	primaries := math.Ceil(targetBuys / (s.rowsPerSec * busyShare))
	drain := orders / s.rowsPerSec
	bandwidth := (frames*tickWire + targetBuys*orderWire) * 8 / 1e9 // Gbit/s
	egressHour := frames * tickWire * 3600 / 1e9
	machines := nodes + math.Ceil(shards/nodeCores) + primaries

	var b bytes.Buffer
	fmt.Fprintf(&b, "# To %s sockets and %s buys a second, on paper\n\n", digits(targetSockets, 0),
		digits(targetBuys, 0))
	fmt.Fprintf(&b,
		"An extrapolation from what was measured at revision %s (RESULTS.md, medians), made by `deploy/bench` together with the\n"+
			"table. Nobody has run this size. The measured figures come from a machine whose %d cores the server, the stores and the\n"+
			"generator shared, so that costs are rather too high than too low; what a network adds is not in them.\n\n",
		rounds[0].Machine.Revision, rounds[0].Machine.Cores)
	warn(&b, rounds)
	section(&b, "Measured", [][2]string{
		{"memory of an idle socket", digits(s.socketKB, 1) + " KB"},
		{"processor time of the server per tick frame", digits(s.frameMicros, 1) + " µs"},
		{"processor time of the server per order, press to event", digits(s.orderMicros, 1) + " µs"},
		{"processor time of Redis per order, everything included", digits(s.redisMicros, 1) + " µs"},
		{"memory of Redis per open order", digits(s.redisBytes, 0) + " bytes"},
		{"rows a second, grouped, one database", digits(s.rowsPerSec, 0)},
	})
	section(&b, "Assumed", [][2]string{
		{
			"ticks",
			fmt.Sprintf("%g a second to every socket, of one sale: %g bytes on the wire each", targetTicks, tickWire),
		},
		{
			"buys",
			fmt.Sprintf("%s a second for %g s, from many sales; %g bytes on the wire each, answer and event included",
				digits(targetBuys, 0), targetBurst, orderWire),
		},
		{"planned use", fmt.Sprintf("%g of a processor and of memory", busyShare)},
		{
			"machine",
			fmt.Sprintf("%g cores like the measured ones, %g GB, %g USD an hour", nodeCores, nodeMemory, nodePrice),
		},
		{
			"traffic to the internet",
			fmt.Sprintf("%g USD per GB, the first and dearest step of the price list", egressUSD),
		},
		{"database", fmt.Sprintf("%g bytes written per row", rowBytes)},
	})
	section(&b, "It follows", [][2]string{
		{"frames", digits(frames, 0) + " a second"},
		{"cores for ticks, for buys", digits(tickCores, 0) + ", " + digits(buyCores, 0)},
		{"memory for sockets", digits(memory, 1) + " GB"},
		{
			"nodes",
			fmt.Sprintf("%s (%s for the cores, %s for the memory)", digits(nodes, 0), digits(byCores, 0),
				digits(byMemory, 0)),
		},
		{"sockets per node", digits(targetSockets/nodes, 0)},
		{
			"Redis",
			fmt.Sprintf("%s cores busy: %s shards of one core each, over which the partitions are spread",
				digits(redisCores, 1), digits(shards, 0)),
		},
		{"Redis memory after the burst", digits(redisGB, 2) + " GB of open orders"},
		{
			"MySQL",
			fmt.Sprintf("%s primaries to keep up; or one, behind by at most %s s, with lag that shoppers see as their place", digits(primaries, 0), digits(drain, 0)),
		},
		{
			"MySQL writes",
			fmt.Sprintf("%s rows a second in %s commits of 500, %s MB/s", digits(targetBuys, 0),
				digits(targetBuys/500, 0), digits(targetBuys*rowBytes/1e6, 0)),
		},
		{"bandwidth", digits(bandwidth, 1) + " Gbit/s out, " + digits(bandwidth/nodes, 2) + " per node"},
		{"machines", fmt.Sprintf("%s: %s USD an hour", digits(machines, 0), digits(machines*nodePrice, 2))},
		{
			"traffic",
			fmt.Sprintf("%s GB an hour: %s USD an hour while everybody watches", digits(egressHour, 0),
				digits(egressHour*egressUSD, 0)),
		},
	})
	b.WriteString(limits)
	return b.Bytes()
}

func section(b *bytes.Buffer, title string, lines [][2]string) {
	fmt.Fprintf(b, "## %s\n\n| | |\n|---|---|\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "| %s | %s |\n", line[0], line[1])
	}
	b.WriteString("\n")
}

const limits = `## What this does not say

- One sale lives in one partition, and a partition on one core of one Redis. A single sale that must take more than that core
  decides is made of several sales of the same product.
- Ticks cost more than everything else together. They are newest-wins: with one a second instead of five, cores and traffic
  for them are a fifth, and the page still moves.
- Every node hears the hints of all personal events, those of other nodes' shoppers too: with N nodes each event travels N times
  inside. That is the first thing to measure beyond a few dozen nodes.
- Every node reads the counters of watched sales from Redis ten times a second: nodes × 10 small pipelines, which the figures
  of one node hardly show.
- Connections come back after a failure at the pace that bye and jitter give them; nodes need room for the neighbours' sockets.

Prices: a compute-optimised machine of 8 cores and 16 GB (AWS c5.2xlarge, on demand, us-east-1: 0.34 USD in the examples of the
EC2 Auto Scaling guide) and the first step of AWS's price for traffic to the internet. Reserved machines, spot prices, a CDN or
another provider's traffic change the money by a factor of two to ten, not the counts.
`
