package server

import (
	"encoding/binary"

	"github.com/bits-and-blooms/bloom/v3"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// falsePositives is how many unknown ids in a thousand still cost a look into the database.
const falsePositives = 0.001

// newIDFilter makes a Bloom filter over all sale ids.
func newIDFilter(ids []shop.ID) catalog.IDFilter {
	bits := bloom.NewWithEstimates(uint(max(len(ids), 1024)), falsePositives)
	for _, id := range ids {
		bits.Add(idBytes(id))
	}
	return func(id shop.ID) bool { return bits.Test(idBytes(id)) }
}

func idBytes(id shop.ID) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(id)) }
