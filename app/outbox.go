package app

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// OutboxMessage tells the shop's back office that an order was paid, or that its money was given back. Order and Rev
// identify it: postings are delivered at least once, so a repeat is recognised by them; of two with the same order the
// larger rev is the newer, in whatever order they come.
type OutboxMessage struct {
	Order       ID         `json:"order"`
	Rev         int        `json:"rev"`
	State       OrderState `json:"state"` // paid or refunded
	At          Millis     `json:"at"`    // when the order reached that state
	Sale        ID         `json:"sale"`
	ProductName string     `json:"product_name"`
	User        ID         `json:"user"`
	Qty         int        `json:"qty"`
	PriceFen    int64      `json:"price_fen"`
	AmountFen   int64      `json:"amount_fen"`
	PaidAt      Millis     `json:"paid_at,omitempty"`
	TradeNo     string     `json:"trade_no,omitempty"`
	Address     *Address   `json:"address,omitempty"`
}

// OutboxStore is the outbox in the database: what the back office is to hear, written in the transaction that changed
// the order. Errors wrap ErrTransient.
type OutboxStore interface {
	// ClaimOutbox takes what is due, oldest first. What is not marked by then comes again after OutboxLease.
	ClaimOutbox(ctx context.Context, now Millis, limit int) ([]OutboxMessage, error)
	// MarkSent notes that they are in the stream.
	MarkSent(ctx context.Context, posted []OutboxMessage) error
	// Repost has everything from the instant given on appended once more, and answers how much that is.
	Repost(ctx context.Context, since Millis) (int64, error)
	// Unposted counts what waits.
	Unposted(ctx context.Context) (int64, error)
}

// OutboxStream is the stream that the back office reads.
type OutboxStream interface {
	// Append adds postings in their order. An error is a transient fault: some may have been added.
	Append(ctx context.Context, postings []OutboxMessage) error
}

// QuarantinedMessage is an entry of the back office's stream that a receiver has rejected.
type QuarantinedMessage struct {
	ID            string        `json:"id"`
	Group         string        `json:"group"` // of the receiver
	Reason        string        `json:"reason"`
	Deliveries    int           `json:"deliveries"`
	At            Millis        `json:"at"`
	OutboxMessage OutboxMessage `json:"posting"` // empty if the entry is unreadable
}

const (
	// OutboxLease is how long a node has for what it took; it is also the pause after a failure.
	OutboxLease = 15 * time.Second
	postEvery   = time.Second
	postBatch   = 500
)

// OutboxSender carries postings from the outbox into the back office's stream.
type OutboxSender struct {
	Outbox    OutboxStore
	Stream    OutboxStream
	Inventory Inventory // for the time

	waiting atomic.Int64
	counted time.Time
}

// Run posts until ctx ends.
func (p *OutboxSender) Run(ctx context.Context) error {
	return Repeat(ctx, postEvery, "post to the back office", p.RunOnce)
}

// RunOnce posts everything that is due. It is appended first and marked after that: a crash in between appends it
// again.
func (p *OutboxSender) RunOnce(ctx context.Context) error {
	for {
		now, err := p.Inventory.Now(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		due, err := p.Outbox.ClaimOutbox(ctx, now, postBatch)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			return p.count(ctx)
		}
		if err := p.Stream.Append(ctx, due); err != nil {
			return err
		}
		if err := p.Outbox.MarkSent(ctx, due); err != nil {
			return err
		}
	}
}

// count looks, from time to time, how much waits in the outbox: on any node, for any node.
func (p *OutboxSender) count(ctx context.Context) error {
	if time.Since(p.counted) < backlogEvery {
		return nil
	}
	n, err := p.Outbox.Unposted(ctx)
	if err == nil {
		p.counted = time.Now()
		p.waiting.Store(n)
	}
	return err
}

// Waiting is how much waited in the outbox when it was counted last.
func (p *OutboxSender) Waiting() int64 { return p.waiting.Load() }
