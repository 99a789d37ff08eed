package streams

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	parkedPage = 500
	longReason = 300 // bytes of it that are kept
)

// park moves an entry that a group's receiver refuses for good to the parked ones; false when the group had
// acknowledged it. It may be repeated.
func (s *PaidStream) park(ctx context.Context, group, id, reason string) (bool, error) {
	reply, err := parkScript.run(ctx, s.client, []string{paidKey, parkedKey}, group, id, cut(reason, longReason))
	if err != nil {
		return false, err
	}
	if code := integer(reply[0]); code != codeDone {
		return false, fmt.Errorf("park entry %s: code %d, somebody else has written to %s or %s", id, code, paidKey,
			parkedKey)
	}
	return text(reply[1]) != "", nil
}

// Parked lists what receivers have refused for good, oldest first.
func (s *PaidStream) Parked(ctx context.Context) ([]app.ParkedMessage, error) {
	var all []app.ParkedMessage
	for from := "-"; ; {
		page, err := s.client.XRangeN(ctx, parkedKey, from, "+", parkedPage).Result()
		if err != nil {
			return nil, fmt.Errorf("read parked postings: %w", transient(err))
		}
		for _, m := range page {
			all = append(all, parseParked(m))
			from = "(" + m.ID
		}
		if len(page) < parkedPage {
			return all, nil
		}
	}
}

// CountParked tells how many there are.
func (s *PaidStream) CountParked(ctx context.Context) (int64, error) {
	n, err := s.client.XLen(ctx, parkedKey).Result()
	if err != nil {
		return 0, fmt.Errorf("count parked postings: %w", transient(err))
	}
	return n, nil
}

// ReplayParked sends a parked posting once more, to every group. ErrNoRow: nothing is parked under that id, or not any
// more. ErrPermanent: what is parked there cannot be sent.
func (s *PaidStream) ReplayParked(ctx context.Context, id string) error {
	if _, ok := entryID(id); !ok {
		return fmt.Errorf("parked posting %.40q: %w", id, app.ErrNoRow)
	}
	reply, err := unparkScript.run(ctx, s.client, []string{parkedKey, paidKey}, id)
	if err != nil {
		return err
	}
	switch code := integer(reply[0]); {
	case code == codeRejected:
		return fmt.Errorf("%w: parked posting %s has no body that could be sent", app.ErrPermanent, id)
	case code != codeDone:
		return fmt.Errorf("send parked posting %s: code %d, somebody else has written to %s or %s", id, code, paidKey,
			parkedKey)
	case text(reply[1]) == "":
		return fmt.Errorf("parked posting %s: %w", id, app.ErrNoRow)
	}
	return nil
}

// DropParked forgets a parked posting; false when it was gone already.
func (s *PaidStream) DropParked(ctx context.Context, id string) (bool, error) {
	if _, ok := entryID(id); !ok {
		return false, nil // what cannot exist is gone
	}
	n, err := s.client.XDel(ctx, parkedKey, id).Result()
	if err != nil {
		return false, fmt.Errorf("drop parked posting %s: %w", id, transient(err))
	}
	return n == 1, nil
}

func parseParked(m redis.XMessage) app.ParkedMessage {
	field := func(name string) string { return text(m.Values[name]) }
	p := app.ParkedMessage{
		ID: m.ID, Group: field("group"), Reason: field("reason"),
		Deliveries: int(number(field("deliveries"))), At: app.Millis(number(field("at"))),
	}
	if posting, err := parseMessage(m); err == nil {
		p.OutboxMessage = posting
	}
	return p
}
