package streams

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// clusterSlots is the number of hash slots of a Redis cluster.
const clusterSlots = 16384

// slotOf returns the slot of a hash tag: its CRC16 (XMODEM), as Redis Cluster defines it.
func slotOf(tag string) int {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % clusterSlots
}

// tagsOf returns the hash tags of the partitions: {0}, {1} … on one server. In a cluster the tag of p is the first of
// p.0, p.1 … whose slot lies in the middle quarter of the p-th of equal slot ranges, one per partition. Equal primaries
// thus get equal numbers of partitions. The tags depend only on the number of partitions.
func tagsOf(partitions int, cluster bool) []string {
	tags := make([]string, partitions)
	for p := range tags {
		tags[p] = strconv.Itoa(p)
		if !cluster {
			continue
		}
		from, to := (8*p+3)*clusterSlots/(8*partitions), (8*p+5)*clusterSlots/(8*partitions)
		for n := 0; ; n++ {
			tag := tags[p] + "." + strconv.Itoa(n)
			if slot := slotOf(tag); slot >= from && slot <= to {
				tags[p] = tag
				break
			}
		}
	}
	return tags
}

// IsCluster reports whether the client is a Redis Cluster client.
func IsCluster(client redis.UniversalClient) bool {
	_, cluster := client.(*redis.ClusterClient)
	return cluster
}

// Placement is the location of a partition's keys.
type Placement struct {
	Partition int    `json:"partition"`
	Tag       string `json:"tag"` // hash tag of its keys, without braces
	Slot      int    `json:"slot"`
	Primary   string `json:"primary"` // host:port
}

// Placements returns the locations of the partitions in a cluster; nil for a single server.
func Placements(ctx context.Context, client redis.UniversalClient, partitions int) ([]Placement, error) {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return nil, nil
	}
	placed := make([]Placement, partitions)
	for p, tag := range tagsOf(partitions, true) {
		primary, err := cluster.MasterForKey(ctx, "{"+tag+"}")
		if err != nil {
			return nil, fmt.Errorf("find the primary of partition %d: %w", p, transient(err))
		}
		placed[p] = Placement{Partition: p, Tag: tag, Slot: slotOf(tag), Primary: primary.Options().Addr}
	}
	return placed, nil
}
