package server

import (
	"encoding/binary"

	"github.com/bits-and-blooms/bloom/v3"

	"stampede/app"
)

// falsePositives is how many unknown ids in a thousand still cost a look into the database.
const falsePositives = 0.001

// idFilter is the Bloom filter over all sale ids.
type idFilter struct{ bits *bloom.BloomFilter }

func newIDFilter(ids []app.ID) app.IDFilter {
	f := idFilter{bloom.NewWithEstimates(uint(max(len(ids), 1024)), falsePositives)}
	for _, id := range ids {
		f.bits.Add(idBytes(id))
	}
	return f
}

// Has may say yes to an id that was never added, never no to one that was.
func (f idFilter) Has(id app.ID) bool { return f.bits.Test(idBytes(id)) }

func idBytes(id app.ID) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(id)) }
