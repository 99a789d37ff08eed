package shop

import (
	"encoding/json"

	"stampede/app/trace"
)

// Entry is one reservation as stored in the stream. It has all data of the order's row except product name and
// deadline.
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
	Trace       *trace.SpanRef `json:"-"` // parent of the next span; nil: not traced
	ParseErr    error          `json:"-"` // not nil: the entry is unreadable, and only StreamID and Partition are valid
}

// Row returns the pending order for the entry, without product name and deadline.
func (e *Entry) Row() Order {
	o := e.OrderFields()
	o.State, o.Rev = Pending, FirstRev
	if e.Address != "" {
		o.Address = new(Address)
		if err := json.Unmarshal([]byte(e.Address), o.Address); err != nil {
			o.Address = nil // the gate wrote valid JSON; if it is corrupt, the order is kept without its address
		}
	}
	return o
}

// OrderFields returns the order of the entry without state, rev, deadline, product name and address.
func (e *Entry) OrderFields() Order {
	return Order{
		ID: e.Order, Sale: e.Sale, User: e.User, Partition: e.Partition, Qty: e.Qty,
		PriceFen: e.PriceFen, AmountFen: e.PriceFen * int64(e.Qty), Ticket: e.Ticket, Seq: e.Seq, Hold: e.Hold,
		SaleVersion: e.SaleVersion, Key: e.Key, ContentHash: e.Hash, CreatedAt: e.ReservedAt,
	}
}

// EntryID is the ID of an entry in its stream: Redis time in milliseconds and a number.
type EntryID struct{ Time, Number int64 }

// After reports whether the entry is newer than the other one.
func (e EntryID) After(other EntryID) bool {
	return e.Time > other.Time || e.Time == other.Time && e.Number > other.Number
}

// Delivery is the progress of the consumers of a partition.
type Delivery struct {
	Epoch                int64   // epoch of the partition that owns the stream
	Newest               EntryID // the newest entry of the stream
	OldestUnacknowledged EntryID // the oldest entry that is not acknowledged; zero: all entries are acknowledged
}
