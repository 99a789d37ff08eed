package shop

import (
	"encoding/json"

	"stampede/app/trace"
)

// Entry is one reservation as the stream carries it: all that its row needs.
type Entry struct {
	StreamID    string // Redis stream id; its first part is ReservedAt
	Order       ID
	Sale        ID
	User        ID
	Partition   int
	Epoch       int64
	Seq         int64
	Ticket      int64
	Hold        int64
	Qty         int
	PriceFen    int64
	SaleVersion int64
	Key         string
	Hash        string
	Address     string
	ReservedAt  Millis
	Trace       *trace.SpanRef // where its trace goes on; nil: it is not traced
	Bad         error          // why the entry could not be read; then only StreamID and Partition are sure
}

// Row is the pending order that an entry becomes, without product name and deadline.
func (e *Entry) Row() Order {
	o := e.BareRow()
	o.State, o.Rev = Pending, FirstRev
	if e.Address != "" {
		o.Address = new(Address)
		if err := json.Unmarshal([]byte(e.Address), o.Address); err != nil {
			o.Address = nil // the gate wrote it, so it reads; if not, the order is worth more than the line
		}
	}
	return o
}

// BareRow is the order that an entry names; state, rev and deadline are the caller's.
func (e *Entry) BareRow() Order {
	return Order{
		ID: e.Order, Sale: e.Sale, User: e.User, Partition: e.Partition, Qty: e.Qty,
		PriceFen: e.PriceFen, AmountFen: e.PriceFen * int64(e.Qty), Ticket: e.Ticket, Seq: e.Seq, Hold: e.Hold,
		SaleVersion: e.SaleVersion, Key: e.Key, ContentHash: e.Hash, CreatedAt: e.ReservedAt,
	}
}

// EntryID is the place of an entry in its stream.
type EntryID struct{ Time, Number int64 }

// After reports whether the entry was added after the other one.
func (e EntryID) After(other EntryID) bool {
	return e.Time > other.Time || e.Time == other.Time && e.Number > other.Number
}

// Delivery is how far the consumers of a partition are. Entries are ordered by Redis time and a number.
type Delivery struct {
	Epoch  int64   // of the partition, to which the stream belongs
	Newest EntryID // the last entry that was ever added
	Open   EntryID // the oldest one that is not acknowledged; zero when all are
}
