package main

import "math"

// What the extrapolation is for, and what it assumes beyond the measured figures.
const (
	targetSockets = 1_000_000.0
	targetBuys    = 100_000.0 // a second
	targetTicks   = 5.0       // a second and socket
	targetBurst   = 10.0      // seconds that the buys last
	fewTicks      = 1.0       // a second and socket, where traffic has to be saved

	busyShare  = 0.6   // of a processor or of memory, planned to be used
	nodeCores  = 8.0   // of the machine that is counted with
	nodeMemory = 16.0  // GB
	nodePrice  = 0.34  // USD an hour
	tickWire   = 220.0 // bytes of a tick of one sale on the wire, TCP, IP and TLS record included
	orderWire  = 800.0 // bytes of a buy, its answer and its event
	rowBytes   = 600.0 // bytes that the database writes for a row: row, indexes, redo
	changeWire = 150.0 // bytes of a change of an order between Redis and a node
	room       = 4.0   // partitions for each primary of Redis at first, so that it can be split without new data
	standby    = 2.0   // servers for each primary of Redis and of the database: itself, and its replica
	egressUSD  = 0.09  // per GB to the internet
)

// extrapolate answers the numbers of SCALE.md by their names in scale.md.
func extrapolate(rounds []Round) map[string]any {
	socketKB := median(rounds, "crowd/idle kb_per_socket")
	frameMicros := median(rounds, "crowd/fanout server_cpu_us_per_frame")
	orderMicros := median(rounds, "chain/chain server_cpu_us_per_op")
	redisMicros := median(rounds, "redis_cpu_us_per_order")
	redisBytes := median(rounds, "redis_bytes_per_open_order_after_a_jam")
	rowsPerSec := median(rounds, "Fulfil grouped/s")

	frames := targetSockets * targetTicks
	tickCores := frames * frameMicros / 1e6
	buyCores := targetBuys * orderMicros / 1e6
	memoryGB := targetSockets * socketKB / (1 << 20)
	byCores := math.Ceil((tickCores + buyCores) / busyShare / nodeCores)
	byMemory := math.Ceil(memoryGB / busyShare / nodeMemory)
	nodes := max(byCores, byMemory)
	redisCores := targetBuys * redisMicros / 1e6
	shards := math.Ceil(redisCores / busyShare)
	orders := targetBuys * targetBurst
	primaries := math.Ceil(targetBuys / (rowsPerSec * busyShare))
	gbit := (frames*tickWire + targetBuys*orderWire) * 8 / 1e9 // a second
	egressGB := frames * tickWire * 3600 / 1e9                 // an hour
	machines := nodes + standby*math.Ceil(shards/nodeCores) + standby*primaries
	fewNodes := math.Ceil((targetSockets*fewTicks*frameMicros/1e6 + buyCores) / busyShare / nodeCores)
	backPerSec := crowdSize / median(rounds, "crowd/reconnect all_back_s")
	perNode := targetSockets / nodes

	return map[string]any{
		"scale": rounds[0].Scale, "revision": rounds[0].Machine.Revision, "cores": rounds[0].Machine.Cores,
		"socketKB": socketKB, "frameMicros": frameMicros, "orderMicros": orderMicros,
		"redisMicros": redisMicros, "redisBytes": redisBytes, "rowsPerSec": rowsPerSec,

		"backPerSec": backPerSec,
		"nodeBack":   perNode / (nodes - 1) / (backPerSec * nodeCores / float64(rounds[0].Machine.Cores)),

		"partitionBuys": busyShare * 1e6 / redisMicros, "partitions": shards * room,
		"primaryRows": rowsPerSec * busyShare,
		"fewTicks":    fewTicks, "fewNodes": max(fewNodes, byMemory),
		"fewUSD":     egressGB * fewTicks / targetTicks * egressUSD,
		"fewGbit":    (targetSockets*fewTicks*tickWire + targetBuys*orderWire) * 8 / 1e9,
		"changeWire": changeWire, "insideGbit": targetBuys * changeWire * nodes * 8 / 1e9, "room": room,
		"waits": burst(rowsPerSec),

		"sockets": targetSockets, "buys": targetBuys, "ticks": targetTicks, "burst": targetBurst,
		"busyShare": busyShare, "nodeCores": nodeCores, "nodeMemory": nodeMemory, "nodePrice": nodePrice,
		"tickWire": tickWire, "orderWire": orderWire, "rowBytes": rowBytes, "egressUSD": egressUSD,

		"frames": frames, "tickCores": tickCores, "allCores": tickCores + buyCores,
		"buyCores": buyCores, "memoryGB": memoryGB,
		"nodes": nodes, "byCores": byCores, "byMemory": byMemory, "socketsPerNode": targetSockets / nodes,
		"redisCores": redisCores, "shards": shards, "redisGB": orders * redisBytes / (1 << 30),
		"primaries": primaries, "drain": burst(rowsPerSec)[0].Longest,
		"commits": targetBuys / 500, "writtenMB": targetBuys * rowBytes / 1e6,
		"gbit": gbit, "gbitPerNode": gbit / nodes, "machines": machines, "machinesUSD": machines * nodePrice,
		"egressGB": egressGB, "egressHourUSD": egressGB * egressUSD,
	}
}

// crowdSize is how many sockets come back in the step that is counted with.
const crowdSize = 18_000.0

// waits is what a burst does to those who wait for their order, with so many primaries of the database.
type waits struct {
	Primaries int
	Most      float64 // orders that wait at the worst instant
	Longest   float64 // seconds from a press to its order
	Over      float64 // seconds after the last press until nobody waits
}

// burst plays the burst, step by step, over one, two and three primaries that share the orders evenly: what they do
// not write at once waits in the streams, first come, first served.
func burst(rowsPerSec float64) []waits {
	const step = 0.01 // s
	var all []waits
	for primaries := 1; primaries <= 3; primaries++ {
		w := waits{Primaries: primaries}
		rate, waiting := rowsPerSec*busyShare*float64(primaries), 0.0
		for i := 0; ; i++ {
			at := float64(i) * step
			if at < targetBurst {
				waiting += targetBuys * step
			} else if waiting <= 0 {
				w.Over = max(0, at-targetBurst)
				break
			}
			waiting = max(0, waiting-rate*step)
			w.Most, w.Longest = max(w.Most, waiting), max(w.Longest, waiting/rate)
		}
		all = append(all, w)
	}
	return all
}
