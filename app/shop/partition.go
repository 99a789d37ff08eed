package shop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SaleState is the complete state of one sale in Redis, as warm-up and recovery write it.
type SaleState struct {
	Sale      *Sale
	Stock     int64
	Held      int64
	Sold      int64
	Withdrawn int64
	Tickets   int64
	Orders    []Order // all orders of the sale with a row: for keys, limits, holds
	// Withdrawals are the settled withdrawals of operators. Withdrawn includes their units.
	Withdrawals []StockWithdrawal
	// BlockedReason is the reason why an operator has to settle orders before the sale continues; "": the sale is not
	// stuck.
	BlockedReason string
}

// FirstEpoch is the epoch of a partition that was never opened.
const FirstEpoch = 1

// PartitionState is the state of a partition in Redis.
type PartitionState struct {
	Exists      bool
	Recovering  bool   // closed for a recovery
	ClosedAt    Millis // when it was closed
	Claim       int64  // the epoch that the recovery will start
	Lost        bool   // the recovery restores the sales from rows
	Epoch       int64
	Seq         int64
	Seen        int64  // the highest seq that this node has seen in this epoch
	Changes     int64  // changes of its sales apart from reservations, see lua/rejection.lua
	SeenChanges int64  // the highest number of changes that this node has seen in this epoch
	History     string // run of the connected server; a start or a promotion begins another run; "": not reported
	Followed    string // the history that a promoted replica continued; "" for any other server
	Confirmed   string // the history in which the partition may sell; "": none
	Database    RecordedHistory
	Shop        string // the id of the shop that the data belong to, see store.Settings
}

// PartitionRecovery is a recovery of a partition.
type PartitionRecovery struct {
	Claim    int64 // the epoch that the recovery starts
	Lost     bool  // Redis has lost writes: the sales are restored from rows, and the stream restarts
	Database DatabaseHistory
	Shop     string // the id of the shop
}

// Evidence is the state of an order in its Redis partition.
type Evidence struct {
	Hold     *OpenHold // nil: no open hold
	InRecord bool      // the buyer's record contains the order, so this partition accepted it
	DueAt    Millis    // its deadline in the delay queue; 0: not in the queue
}

// LastOrder names an accepted order. A Redis that lacks it has lost writes (I8).
type LastOrder struct {
	Sale  SaleRef
	User  ID
	Order ID
}

// SaleAudit is the state of a sale that one Redis script read in one instant.
type SaleAudit struct {
	Counters
	Burnt int64
	Holds []OpenHold
	Units map[ID]int64 // units per buyer that the limit counts
	// WithdrawnUnits has the units taken by operators' withdrawals, by withdrawal number.
	WithdrawnUnits map[int64]int64
}

// PartitionsUnreachable is the error of a read over several partitions of which some did not reply. The other results
// are valid. If no partition replied, the read returns a different error.
type PartitionsUnreachable struct {
	Partitions map[int]error
}

// UnreachableIn returns the PartitionsUnreachable in err, or nil.
func UnreachableIn(err error) *PartitionsUnreachable {
	var unreachable *PartitionsUnreachable
	if errors.As(err, &unreachable) {
		return unreachable
	}
	return nil
}

// Has reports whether the partition did not reply. It is false for a nil receiver.
func (u *PartitionsUnreachable) Has(partition int) bool {
	return u != nil && u.Partitions[partition] != nil
}

func (u *PartitionsUnreachable) Error() string {
	texts := make([]string, 0, len(u.Partitions))
	for _, p := range slices.Sorted(maps.Keys(u.Partitions)) {
		texts = append(texts, fmt.Sprintf("partition %d: %v", p, u.Partitions[p]))
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of the partitions, usually transient faults.
func (u *PartitionsUnreachable) Unwrap() []error { return slices.Collect(maps.Values(u.Partitions)) }

// RepliedCounters returns the counters of the sales whose partitions replied.
func RepliedCounters(refs []SaleRef, counters []Counters, unreachable *PartitionsUnreachable) []Counters {
	if unreachable == nil {
		return counters
	}
	replied := make([]Counters, 0, len(counters))
	for i, c := range counters {
		if !unreachable.Has(refs[i].Partition) {
			replied = append(replied, c)
		}
	}
	return replied
}
