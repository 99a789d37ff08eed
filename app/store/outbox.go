package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// Outbox keeps the postings that a transaction must send.
type Outbox struct{ *session }

// outboxRow is the message to the back office about one revision of an order.
type outboxRow struct {
	bun.BaseModel `bun:"table:outbox"`

	Order  shop.ID         `bun:"order_id,pk"`
	Rev    int             `bun:"rev,pk"`
	State  shop.OrderState `bun:"state"`
	At     shop.Millis     `bun:"at"`
	NextAt *shop.Millis    `bun:"next_at"`
	SentAt *shop.Millis    `bun:"sent_at"`
}

// addOutboxMessage adds a message for the back office that an order was paid or refunded, in the transaction of the
// change.
func (s Outbox) addOutboxMessage(ctx context.Context, tx bun.Conn, o *shop.Order, now shop.Millis) error {
	return insert(ctx, tx, &outboxRow{Order: o.ID, Rev: o.Rev, State: o.State, At: now, NextAt: &now})
}

// ClaimOutbox claims due messages, the oldest first. An unmarked message is due again after outbox.Lease.
func (s Outbox) ClaimOutbox(ctx context.Context, now shop.Millis, limit int) ([]outbox.Message, error) {
	due := func(db bun.IDB, rows *[]outboxRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "order_id", "rev").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s.session, "claim outbox messages", due, func(tx bun.Conn, rows []outboxRow) error {
		for chunk := range slices.Chunk(ordersOf(rows), idsAtOnce) {
			// This also postpones newer due revisions of these orders that are beyond the limit.
			_, err := exec(ctx, tx, "UPDATE outbox SET next_at = ? WHERE order_id IN (?) AND next_at <= ?",
				now.Add(outbox.Lease), bun.List(chunk), now)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return s.outboxMessages(ctx, rows)
}

// outboxMessages completes the messages with fields of the orders' rows. A row has the same revision or a later one.
func (s Outbox) outboxMessages(ctx context.Context, rows []outboxRow) ([]outbox.Message, error) {
	found, err := s.Orders().OrdersByID(ctx, ordersOf(rows))
	if err != nil {
		return nil, err
	}
	byID := make(map[shop.ID]*shop.Order, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	out := make([]outbox.Message, len(rows))
	for i, r := range rows {
		o := byID[r.Order]
		if o == nil {
			return nil, fmt.Errorf("%w: order %s is in the outbox and has no row", shop.ErrPermanent, r.Order)
		}
		out[i] = outbox.Message{
			Order: r.Order, Rev: r.Rev, State: r.State, At: r.At, Sale: o.Sale, ProductName: o.ProductName,
			User: o.User, Qty: o.Qty,
			PriceFen: o.PriceFen, AmountFen: o.AmountFen, PaidAt: o.PaidAt, TradeNo: o.TradeNo, Address: o.Address,
		}
	}
	return out, nil
}

func ordersOf(rows []outboxRow) []shop.ID {
	return convert(rows, func(r *outboxRow) shop.ID { return r.Order })
}

// MarkSent records that messages were appended to the stream, where `sent` is the mark of the stream. `claimed` is the
// instant of their claim, which next_at identifies. It skips messages that were claimed again or reposted since then.
func (s Outbox) MarkSent(ctx context.Context, messages []outbox.Message, claimed, sent shop.Millis) error {
	byRev := make(map[int][]shop.ID, 2)
	for i := range messages {
		byRev[messages[i].Rev] = append(byRev[messages[i].Rev], messages[i].Order)
	}
	for rev, ids := range byRev {
		for chunk := range sortedChunks(ids) {
			_, err := s.run(ctx, "mark outbox messages",
				"UPDATE outbox SET next_at = NULL, sent_at = ? WHERE order_id IN (?) AND rev = ? AND next_at = ?",
				sent, bun.List(chunk), rev, claimed.Add(outbox.Lease))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// LastSent returns the highest mark of a sent message; 0: no message was sent.
func (s Outbox) LastSent(ctx context.Context) (at shop.Millis, err error) {
	err = s.db.NewRaw("SELECT COALESCE((SELECT sent_at FROM outbox WHERE sent_at IS NOT NULL"+
		" ORDER BY sent_at DESC LIMIT 1), 0)").Scan(ctx, &at)
	return at, wrap("read the highest mark of the outbox messages", err)
}

// Repost schedules all messages with a later mark than `since` again, and returns their number. It also ends all
// claims, because Redis may have lost messages that a node has appended and not yet marked.
func (s Outbox) Repost(ctx context.Context, since shop.Millis) (n int64, err error) {
	return inTx(ctx, s.session, "schedule outbox messages again", func(tx bun.Conn) (int64, error) {
		if _, err := exec(ctx, tx, "UPDATE outbox SET next_at = at WHERE next_at IS NOT NULL AND next_at > at"); err != nil {
			return 0, err
		}
		return exec(ctx, tx, "UPDATE outbox SET next_at = at, sent_at = NULL WHERE sent_at > ?", since)
	})
}

// RecordGroups records the names of the consumer groups of the back office's stream, in one setting.
func (s Outbox) RecordGroups(ctx context.Context, groups []string) error {
	return s.inTx(ctx, "record the consumer groups of the back office", func(tx bun.Conn) error {
		return s.putSetting(ctx, tx, settingGroups, strings.Join(groups, "\n"))
	})
}

// Groups returns the names that RecordGroups recorded last.
func (s Outbox) Groups(ctx context.Context) ([]string, error) {
	var names string
	err := s.db.NewRaw("SELECT value FROM settings WHERE name = ?", settingGroups).Scan(ctx, &names)
	if errors.Is(err, sql.ErrNoRows) || err == nil && names == "" {
		return nil, nil
	}
	return strings.Split(names, "\n"), wrap("read the groups of the back office", err)
}

// Unposted counts the messages that are not sent yet.
func (s Outbox) Unposted(ctx context.Context) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM outbox WHERE next_at IS NOT NULL").Scan(ctx, &n)
	return n, wrap("count unsent outbox messages", err)
}
