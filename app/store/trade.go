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

// tradeRow is the row of a payment.OpenedTrade.
type tradeRow struct {
	bun.BaseModel `bun:"table:trades"`

	Order     shop.ID      `bun:"order_id,pk"`
	OpenedAt  shop.Millis  `bun:"opened_at"` // 0: no opened payment is known
	ExpiresAt shop.Millis  `bun:"expires_at"`
	CheckAt   *shop.Millis `bun:"check_at"`
}

// firstCheck is the delay from the opening of a trade to its first check at the gateway: buyers need some seconds to
// pay.
const firstCheck = 5 * time.Second

// OpenTrade records once, before the gateway is contacted, that a pending order of the user has a trade. It records
// nothing if the time to pay ends within margin of now. It returns the resulting row. ErrNoRow: no such order of this
// user. WrongState: the sale is hidden. AddressRequired: the product ships, and the order has no address.
func (s Payments) OpenTrade(
	ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration,
) (shop.Order, error) {
	return inTx(ctx, s.session, "open the trade of order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.Orders().lockOrderOf(ctx, tx, order, user)
		expires := o.PayBy.Add(-margin)
		if err != nil || o.State != shop.Pending || expires <= now {
			return o, err
		}
		if err := checkSaleForTrade(ctx, tx, &o); err != nil || o.TradeOpened != 0 {
			return o, err
		}
		o.TradeOpened = now
		err = execMatching(ctx, tx, 1, "record the trade",
			"UPDATE orders SET trade_opened = ?, "+keepChangedAt+" WHERE id = ? AND state = ? AND trade_opened = 0", now,
			order, shop.Pending)
		if err != nil {
			return o, err
		}
		check := now.Add(firstCheck)
		_, err = exec(ctx, tx, "INSERT INTO trades (order_id, opened_at, expires_at, check_at) VALUES (?, ?, ?, ?) "+
			s.d.onDuplicate+" opened_at = ?, check_at = ?", order, now, expires, check, now, check)
		return o, err
	})
}

// checkSaleForTrade rejects trades of hidden sales, and of shipped products without a delivery address.
func checkSaleForTrade(ctx context.Context, tx bun.Conn, o *shop.Order) error {
	var hidden, ships bool
	err := tx.QueryRowContext(ctx, "SELECT s.hidden, p.ships FROM sales s JOIN products p ON p.id = s.product_id"+
		" WHERE s.id = ?", o.Sale).Scan(&hidden, &ships)
	switch {
	case err != nil:
		return err
	case hidden:
		return shop.Fail(shop.WrongState, "an order of a hidden sale cannot be paid")
	case ships && o.Address == nil:
		return shop.Fail(shop.AddressRequired, "the order has no delivery address: set it, then pay")
	}
	return nil
}

// EndTraded sets pending orders to cancelled or expired and returns their units to the guard, in one transaction per
// 500 orders. The trades of these orders must have ended at the gateway. Orders of a sale whose row is locked stay
// pending. EndTraded returns all existing rows, in their new states.
func (s Payments) EndTraded(
	ctx context.Context, ids []shop.ID, to shop.OrderState, now shop.Millis,
) ([]shop.Order, error) {
	pending := func(o *shop.Order) bool { return o.State == shop.Pending }
	return s.Orders().endDue(ctx, ids, ending{to: to, at: now}, pending)
}

// endedShare: ClaimTrades reserves limit/endedShare places for trades whose time to pay has ended.
const endedShare = 8

// ClaimTrades returns due trades of changeable orders, the longest waiting first, and postpones their next check to
// `until`. Trades that can still be paid come first; at least an eighth of the limit is reserved for the other trades.
func (s Payments) ClaimTrades(ctx context.Context, now, until shop.Millis, limit int) ([]payment.OpenedTrade, error) {
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
		return execMatching(ctx, tx, len(ids), "postpone trades",
			"UPDATE trades SET check_at = ? WHERE order_id IN (?)", until, bun.List(ids))
	})
	return convert(due, func(r *tradeRow) payment.OpenedTrade {
		return payment.OpenedTrade{Order: r.Order, OpenedAt: r.OpenedAt, ExpiresAt: r.ExpiresAt, DueAt: *r.CheckAt}
	}), err
}

// lockDue reads and locks due trades, the longest waiting first. ended selects trades whose time to pay has ended,
// otherwise trades that can still be paid.
func (s Payments) lockDue(
	ctx context.Context, tx bun.Conn, ended bool, now shop.Millis, limit int,
) (rows []tradeRow, err error) {
	q := tx.NewSelect().Model(&rows).Where("ended = ? AND check_at <= ?", ended, now).Where(s.changeable()).
		Order("check_at").
		Limit(int64(limit))
	return rows, s.locking(q).Scan(ctx)
}

// CheckTrades sets the time of the next check of each trade, as of now; 0: no further check. Settled trades do not
// change.
func (s Payments) CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error {
	if len(next) == 0 {
		return nil
	}
	together := make(map[shop.Millis][]shop.ID)
	for _, order := range slices.Sorted(maps.Keys(next)) { // locks are taken in the order of ids
		together[next[order]] = append(together[next[order]], order)
	}
	return s.inTx(ctx, "plan the next check of trades", func(tx bun.Conn) error {
		for _, when := range slices.Sorted(maps.Keys(together)) {
			for chunk := range slices.Chunk(together[when], idsAtOnce) {
				_, err := exec(ctx, tx, "UPDATE trades SET check_at = ?, ended = (expires_at <= ?)"+
					" WHERE order_id IN (?) AND check_at IS NOT NULL", nullIfZero(when), now, bun.List(chunk))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// OpenTrades counts the trades that still have a check scheduled.
func (s Payments) OpenTrades(ctx context.Context) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(*) FROM trades WHERE ended IN (0, 1) AND check_at IS NOT NULL").Scan(ctx, &n)
	return n, wrap("count open trades", err)
}
