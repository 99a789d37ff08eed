package shop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SaleState is all that Redis knows of one sale, as warm-up and recovery write it.
type SaleState struct {
	Sale      *Sale
	Stock     int64
	Held      int64
	Sold      int64
	Withdrawn int64
	Tickets   int64
	Orders    []Order // every order of the sale that has a row: for keys, limits, holds
	// Acts are the withdrawals of operators that are settled: what they have taken is in Withdrawn.
	Acts []StockAct
	// Stuck is why an operator has to settle orders before the sale goes on; "": it sells.
	Stuck string
}

// PartitionState is the state of a partition in Redis.
type PartitionState struct {
	Exists     bool
	Recovering bool   // closed for a recovery,
	ClosedAt   Millis // since then,
	Claim      int64  // for a recovery that will begin this epoch,
	Lost       bool   // which restores the sales from rows
	Epoch      int64
	Seq        int64
	Seen       int64  // the highest seq that this node was told of in this epoch
	History    string // of the server that answered: begins anew when it starts or is promoted; "" if it does not tell
	Followed   string // the history that it continued as a replica that was promoted; "" for any other server
	Confirmed  string // the history in which the partition may sell; "" if none
	Database   RecordedHistory
}

// PartitionRecovery is a recovery of a partition.
type PartitionRecovery struct {
	Claim    int64 // the epoch that it begins
	Lost     bool  // Redis has lost writes: the sales are restored from rows, and the stream begins anew
	Database DatabaseHistory
}

// Evidence is what a partition in Redis knows of an order.
type Evidence struct {
	Hold  *OpenHold // nil: none is open
	Named bool      // the buyer's record names the order, so it was accepted here
	DueAt Millis    // its place in the delay queue; 0: it is not there
}

// Witness names an order that was accepted: a Redis that does not know of it has lost writes (I8).
type Witness struct {
	Sale  SaleRef
	User  ID
	Order ID
}

// SaleAudit is what one Redis script saw of a sale in one instant.
type SaleAudit struct {
	Counters
	Burnt int64
	Holds []OpenHold
	Units map[ID]int64 // per buyer, what the limit counts
	// Out is what withdrawals of operators have taken, by their numbers.
	Out map[int64]int64
}

// PartitionsAway is the error of a read over several partitions of which some did not answer; the other results stand
// beside it. If nothing answered, the error is another one.
type PartitionsAway struct {
	Partitions map[int]error
}

// AwayOf is the part of err that says which partitions did not answer, and nil when err says something else.
func AwayOf(err error) *PartitionsAway {
	var away *PartitionsAway
	if errors.As(err, &away) {
		return away
	}
	return nil
}

// Has reports whether the partition did not answer; of nil none did not.
func (a *PartitionsAway) Has(partition int) bool { return a != nil && a.Partitions[partition] != nil }

func (a *PartitionsAway) Error() string {
	words := make([]string, 0, len(a.Partitions))
	for _, p := range slices.Sorted(maps.Keys(a.Partitions)) {
		words = append(words, fmt.Sprintf("partition %d: %v", p, a.Partitions[p]))
	}
	return strings.Join(words, "; ")
}

// Unwrap makes it what its partitions failed with: a transient fault, nearly always.
func (a *PartitionsAway) Unwrap() []error { return slices.Collect(maps.Values(a.Partitions)) }

// Answered are the counters of the sales whose partitions are there.
func Answered(refs []SaleRef, counters []Counters, away *PartitionsAway) []Counters {
	if away == nil {
		return counters
	}
	some := make([]Counters, 0, len(counters))
	for i, c := range counters {
		if !away.Has(refs[i].Partition) {
			some = append(some, c)
		}
	}
	return some
}
