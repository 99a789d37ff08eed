package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// tradeRow is payment.OpenedTrade as the table has it.
type tradeRow struct {
	bun.BaseModel `bun:"table:trades"`

	Order     shop.ID      `bun:"order_id,pk"`
	OpenedAt  shop.Millis  `bun:"opened_at"`
	ExpiresAt shop.Millis  `bun:"expires_at"`
	CheckAt   *shop.Millis `bun:"check_at"`
}

// firstCheck is how long after its opening a trade is first asked about: people need some seconds to pay.
const firstCheck = 5 * time.Second

// OpenTrade notes, once, that the gateway is about to be contacted for a pending order of the user, if its time to pay
// does not end within margin of now. It answers the row as it is then; ErrNoRow: none, or another user's.
func (s *Store) OpenTrade(
	ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration,
) (shop.Order, error) {
	return inTx(ctx, s, "open the trade of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrderOf(ctx, tx, order, user)
		expires := o.PayBy.Add(-margin)
		if err != nil || o.State != shop.Pending || o.TradeOpened != 0 || expires <= now {
			return o, err
		}
		var hidden bool
		if err := tx.QueryRowContext(ctx, "SELECT hidden FROM sales WHERE id = ?", o.Sale).Scan(&hidden); err != nil {
			return o, err
		}
		if hidden {
			return o, shop.Fail(shop.WrongState, "an order of a hidden sale cannot be paid")
		}
		o.TradeOpened = now
		err = execMatching(ctx, tx, 1, "note the trade",
			"UPDATE orders SET trade_opened = ?, "+unstamped+" WHERE id = ? AND state = ? AND trade_opened = 0", now,
			order, shop.Pending)
		if err != nil {
			return o, err
		}
		row := tradeRow{Order: order, OpenedAt: now, ExpiresAt: expires, CheckAt: new(now.Add(firstCheck))}
		return o, insert(ctx, tx, &row)
	})
}

// EndTraded sets pending orders, whose trades must be over, to cancelled or expired and returns their units to the
// guard, in one transaction per 500 orders. Orders of a sale whose row is locked stay pending. It returns all rows that
// exist, in their new states.
func (s *Store) EndTraded(
	ctx context.Context, ids []shop.ID, to shop.OrderState, now shop.Millis,
) ([]shop.Order, error) {
	return s.endDue(ctx, ids, ending{to: to, at: now}, func(o *shop.Order) bool { return o.State == shop.Pending })
}

// endedShare is the part of a claim that trades get whose time to pay is over, also when others would fill it.
const endedShare = 8

// ClaimTrades answers trades that are due and puts their next turn off until the instant given, the longest waiting
// first. Those that can still be paid precede the others, which get an eighth of the limit in any case.
func (s *Store) ClaimTrades(ctx context.Context, now, until shop.Millis, limit int) ([]payment.OpenedTrade, error) {
	limit = min(limit, idsAtOnce)
	var due []tradeRow
	err := s.inTx(ctx, "claim trades", func(tx bun.Conn) (err error) {
		var ended []tradeRow
		due, err = s.lockDue(ctx, tx, false, now, limit-limit/endedShare)
		if err == nil && len(due) < limit {
			ended, err = s.lockDue(ctx, tx, true, now, limit-len(due))
		}
		due = append(due, ended...)
		if err != nil || len(due) == 0 {
			return err
		}
		ids := convert(due, func(r *tradeRow) shop.ID { return r.Order })
		slices.Sort(ids)
		return execMatching(ctx, tx, len(ids), "put them off",
			"UPDATE trades SET check_at = ? WHERE order_id IN (?)", until, bun.List(ids))
	})
	return convert(due, func(r *tradeRow) payment.OpenedTrade {
		return payment.OpenedTrade{Order: r.Order, OpenedAt: r.OpenedAt, ExpiresAt: r.ExpiresAt, DueAt: *r.CheckAt}
	}), err
}

// lockDue reads the trades of one kind that are due, the longest waiting first, and keeps them from changing.
func (s *Store) lockDue(
	ctx context.Context, tx bun.Conn, ended bool, now shop.Millis, limit int,
) (rows []tradeRow, err error) {
	q := tx.NewSelect().Model(&rows).Where("ended = ? AND check_at <= ?", ended, now).Order("check_at").
		Limit(int64(limit))
	return rows, s.locking(q).Scan(ctx)
}

// CheckTrades sets, at the instant now, when trades are asked about next; 0: never. Settled ones stay as they are.
func (s *Store) CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error {
	if len(next) == 0 {
		return nil
	}
	together := make(map[shop.Millis][]shop.ID)
	for _, order := range slices.Sorted(maps.Keys(next)) { // locks are taken in the order of ids
		together[next[order]] = append(together[next[order]], order)
	}
	return s.inTx(ctx, "plan the next look at trades", func(tx bun.Conn) error {
		for _, when := range slices.Sorted(maps.Keys(together)) {
			for some := range slices.Chunk(together[when], idsAtOnce) {
				_, err := exec(ctx, tx, "UPDATE trades SET check_at = ?, ended = (expires_at <= ?)"+
					" WHERE order_id IN (?) AND check_at IS NOT NULL", unlessZero(when), now, bun.List(some))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// OpenTrades counts the trades of which no last word has come.
func (s *Store) OpenTrades(ctx context.Context) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM trades WHERE ended IN (0, 1) AND check_at IS NOT NULL").Scan(ctx, &n)
	return n, wrap("count open trades", err)
}
