package main

import "math"

// Targets of the extrapolation, and its assumptions beyond the measured figures.
const (
	targetSockets = 1_000_000.0
	targetBuys    = 100_000.0 // per second
	targetTicks   = 5.0       // per second and socket
	targetBurst   = 10.0      // duration of the buys, seconds
	fewTicks      = 1.0       // per second and socket, to save traffic

	busyShare            = 0.6   // planned utilization of processors and memory
	nodeCores            = 8.0   // of the assumed machine
	nodeMemory           = 16.0  // GB
	nodePrice            = 0.34  // USD per hour
	tickWire             = 220.0 // bytes on the wire per tick of one sale, TCP, IP and TLS record included
	orderWire            = 800.0 // bytes of a buy, its reply and its event
	rowBytes             = 600.0 // bytes that the database writes per row: row, indexes, redo
	changeWire           = 150.0 // bytes of a change of an order between Redis and a node
	partitionsPerPrimary = 4.0   // initial partitions per Redis primary, so that it can be split without new partitions
	standby              = 2.0   // servers per primary of Redis and of the database: the primary and its replica
	egressUSD            = 0.09  // per GB to the internet
)

// extrapolate returns the numbers of SCALE.md by their names in scale.md.
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
	rows := rowsPerSec * busyShare // of the database, which has one primary
	waiting := max(0, (targetBuys-rows)*targetBurst)
	gbit := (frames*tickWire + targetBuys*orderWire) * 8 / 1e9 // per second
	egressGB := frames * tickWire * 3600 / 1e9                 // per hour
	machines := nodes + standby*math.Ceil(shards/nodeCores) + standby
	fewNodes := math.Ceil((targetSockets*fewTicks*frameMicros/1e6 + buyCores) / busyShare / nodeCores)
	reconnectsPerSec := crowdSize / median(rounds, "crowd/reconnect all_back_s")
	perNode := targetSockets / nodes

	return map[string]any{
		"scale": rounds[0].Scale, "revision": rounds[0].Machine.Revision, "cores": rounds[0].Machine.Cores,
		"socketKB": socketKB, "frameMicros": frameMicros, "orderMicros": orderMicros,
		"redisMicros": redisMicros, "redisBytes": redisBytes, "rowsPerSec": rowsPerSec,

		"reconnectsPerSec": reconnectsPerSec,
		"nodeBack":         perNode / (nodes - 1) / (reconnectsPerSec * nodeCores / float64(rounds[0].Machine.Cores)),

		"partitionBuys": busyShare * 1e6 / redisMicros, "partitions": shards * partitionsPerPrimary,
		"primaryRows": rows,
		"fewTicks":    fewTicks, "fewNodes": max(fewNodes, byMemory),
		"fewUSD":     egressGB * fewTicks / targetTicks * egressUSD,
		"fewGbit":    (targetSockets*fewTicks*tickWire + targetBuys*orderWire) * 8 / 1e9,
		"changeWire": changeWire, "insideGbit": targetBuys * changeWire * nodes * 8 / 1e9, "room": partitionsPerPrimary,

		"sockets": targetSockets, "buys": targetBuys, "ticks": targetTicks, "burst": targetBurst,
		"busyShare": busyShare, "nodeCores": nodeCores, "nodeMemory": nodeMemory, "nodePrice": nodePrice,
		"tickWire": tickWire, "orderWire": orderWire, "rowBytes": rowBytes, "egressUSD": egressUSD,

		"frames": frames, "tickCores": tickCores, "allCores": tickCores + buyCores,
		"buyCores": buyCores, "memoryGB": memoryGB,
		"nodes": nodes, "byCores": byCores, "byMemory": byMemory, "socketsPerNode": targetSockets / nodes,
		"redisCores": redisCores, "shards": shards, "redisGB": orders * redisBytes / (1 << 30),
		"waiting": waiting, "drain": waiting / rows,
		"commits": targetBuys / 500, "writtenMB": targetBuys * rowBytes / 1e6,
		"gbit": gbit, "gbitPerNode": gbit / nodes, "machines": machines, "machinesUSD": machines * nodePrice,
		"egressGB": egressGB, "egressHourUSD": egressGB * egressUSD,
	}
}

// crowdSize is the number of sockets that reconnect in the measured step.
const crowdSize = 18_000.0
