package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"stampede/app/shop"
)

// Message is a posting. It notifies the shop's back office that an order was paid or refunded. Postings are delivered
// at least once and in any order. Order and Rev identify a posting; the posting with the larger rev is newer.
type Message struct {
	Order       shop.ID         `json:"order"`
	Rev         int             `json:"rev"`
	State       shop.OrderState `json:"state"` // paid or refunded
	At          shop.Millis     `json:"at"`    // when the order reached that state
	Sale        shop.ID         `json:"sale"`
	ProductName string          `json:"product_name"`
	User        shop.ID         `json:"user"`
	Qty         int             `json:"qty"`
	PriceFen    int64           `json:"price_fen"`
	AmountFen   int64           `json:"amount_fen"`
	PaidAt      shop.Millis     `json:"paid_at,omitempty"`
	TradeNo     string          `json:"trade_no,omitempty"`
	Address     *shop.Address   `json:"address,omitempty"`
}

// Store is the outbox in the database. The transaction that changes an order also writes its posting. Errors wrap
// ErrTransient.
type Store interface {
	// ClaimOutbox claims due postings for Lease.
	ClaimOutbox(ctx context.Context, now shop.Millis, limit int) ([]Message, error)
	// MarkSent marks the postings of a claim as appended; `sent` is the high-water mark of the stream.
	MarkSent(ctx context.Context, posted []Message, claimed, sent shop.Millis) error
	LastSent(ctx context.Context) (shop.Millis, error)
	// Repost makes all postings with a later mark than `since` due again and returns their number.
	Repost(ctx context.Context, since shop.Millis) (int64, error)
	RecordGroups(ctx context.Context, groups []string) error
	Groups(ctx context.Context) ([]string, error)
	// Unposted returns the number of postings that are not appended yet.
	Unposted(ctx context.Context) (int64, error)
}

// Stream is the stream that the back office reads.
type Stream interface {
	Append(ctx context.Context, last shop.Millis, postings []Message) (sent shop.Millis, err error)
	Check(ctx context.Context, last shop.Millis) (groups []string, err error)
	MakeGroups(ctx context.Context, groups []string) error
	Confirm(ctx context.Context, lost *LostError) error
}

// LostError means that Redis may have lost appended postings: the Redis server has another history, or the high-water
// mark of the postings is missing or behind the database. No postings are appended until the loss is confirmed.
type LostError struct {
	History string      // history of the Redis server
	Mark    shop.Millis // high-water mark in Redis; 0: missing
	Since   shop.Millis // postings that were appended after this time may be missing
}

func (e *LostError) Error() string {
	return fmt.Sprintf("Redis may lack messages that were appended after %d", e.Since)
}

func (e *LostError) Unwrap() error { return shop.ErrTransient }

// QuarantinedMessage is a posting of the back office's stream that a receiver has rejected.
type QuarantinedMessage struct {
	ID         string      `json:"id"`
	Group      string      `json:"group"` // consumer group of the receiver
	Reason     string      `json:"reason"`
	Deliveries int         `json:"deliveries"`
	At         shop.Millis `json:"at"`
	Message    Message     `json:"posting"` // empty if the posting is unreadable
}

const (
	// Lease is the time for which a node owns claimed postings; it is also the delay after a failure.
	Lease      = 15 * time.Second
	postEvery  = time.Second
	countEvery = 10 * time.Second // interval of counting the waiting postings
	postBatch  = 500
)

// Sender moves postings from the outbox to the back office's stream.
type Sender struct {
	Store  Store
	Stream Stream
	Now    func(ctx context.Context) (shop.Millis, error) // Redis time

	waiting atomic.Int64
	counted time.Time
}

// Run calls RunOnce periodically until ctx ends.
func (s *Sender) Run(ctx context.Context) error {
	return shop.Repeat(ctx, postEvery, "post to the back office", s.RunOnce)
}

// RunOnce appends all due postings and then marks them as sent. After a crash in between, the postings are appended
// again. The mark in the database is read before the mark in Redis, so the mark of an intact Redis is never behind the
// mark of the database.
func (s *Sender) RunOnce(ctx context.Context) error {
	last, err := s.Store.LastSent(ctx)
	if err != nil {
		return err
	}
	groups, err := s.Stream.Check(ctx, last)
	var lost *LostError
	if errors.As(err, &lost) {
		return s.repair(ctx, lost) // the next call of RunOnce appends the postings
	}
	if err != nil {
		return err
	}
	for {
		now, err := s.Now(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		due, err := s.Store.ClaimOutbox(ctx, now, postBatch)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			return s.count(ctx, groups)
		}
		sent, err := s.Stream.Append(ctx, last, due)
		if err != nil {
			return err
		}
		if err := s.Store.MarkSent(ctx, due, now, sent); err != nil {
			return err
		}
	}
}

// repair marks the postings that Redis may have lost as due again, and creates the consumer groups again. No node
// appends until the loss is confirmed, so the mark stays unchanged. After a crash before the confirmation, the next
// call repeats all these steps.
func (s *Sender) repair(ctx context.Context, lost *LostError) error {
	n, err := s.Store.Repost(ctx, lost.Since)
	if err != nil {
		return err
	}
	groups, err := s.Store.Groups(ctx)
	if err != nil {
		return err
	}
	if err := s.Stream.MakeGroups(ctx, groups); err != nil {
		return err
	}
	if n > 0 {
		slog.WarnContext(ctx, "Redis may have lost postings; they are posted again", "entries", n, "since", lost.Since)
	}
	return s.Stream.Confirm(ctx, lost)
}

// count counts the waiting postings of all nodes, at most once per countEvery. It also stores the names of the consumer
// groups in the database, because otherwise they exist only in Redis.
func (s *Sender) count(ctx context.Context, groups []string) error {
	if time.Since(s.counted) < countEvery {
		return nil
	}
	if err := s.Store.RecordGroups(ctx, groups); err != nil {
		return err
	}
	n, err := s.Store.Unposted(ctx)
	if err == nil {
		s.counted = time.Now()
		s.waiting.Store(n)
	}
	return err
}

// Waiting returns the number of postings in the outbox at the last count.
func (s *Sender) Waiting() int64 { return s.waiting.Load() }
