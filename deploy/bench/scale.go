package main

import "math"

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

// extrapolate answers the numbers of SCALE.md by their names in scale.md.
func extrapolate(rounds []Round) map[string]any {
	socketKB := median(rounds, "crowd/idle kb_per_socket")
	frameMicros := median(rounds, "crowd/fanout server_cpu_us_per_frame")
	orderMicros := median(rounds, "chain/chain server_cpu_us_per_op")
	redisMicros := median(rounds, "redis_cpu_us_per_order")
	redisBytes := median(rounds, "redis_bytes_per_open_order")
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
	machines := nodes + math.Ceil(shards/nodeCores) + primaries

	return map[string]any{
		"scale": rounds[0].Scale, "revision": rounds[0].Machine.Revision, "cores": rounds[0].Machine.Cores,
		"socketKB": socketKB, "frameMicros": frameMicros, "orderMicros": orderMicros,
		"redisMicros": redisMicros, "redisBytes": redisBytes, "rowsPerSec": rowsPerSec,

		"sockets": targetSockets, "buys": targetBuys, "ticks": targetTicks, "burst": targetBurst,
		"busyShare": busyShare, "nodeCores": nodeCores, "nodeMemory": nodeMemory, "nodePrice": nodePrice,
		"tickWire": tickWire, "orderWire": orderWire, "rowBytes": rowBytes, "egressUSD": egressUSD,

		"frames": frames, "tickCores": tickCores, "buyCores": buyCores, "memoryGB": memoryGB,
		"nodes": nodes, "byCores": byCores, "byMemory": byMemory, "socketsPerNode": targetSockets / nodes,
		"redisCores": redisCores, "shards": shards, "redisGB": orders * redisBytes / (1 << 30),
		"primaries": primaries, "drain": orders / rowsPerSec,
		"commits": targetBuys / 500, "writtenMB": targetBuys * rowBytes / 1e6,
		"gbit": gbit, "gbitPerNode": gbit / nodes, "machines": machines, "machinesUSD": machines * nodePrice,
		"egressGB": egressGB, "egressHourUSD": egressGB * egressUSD,
	}
}
