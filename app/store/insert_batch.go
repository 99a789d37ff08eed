package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// batch holds the orders that Insert still has to write, and the existing rows that it found.
type batch struct {
	epoch int64
	fresh []shop.Order           // by id, without duplicates
	known map[shop.ID]shop.Order // rows that exist

	lost  bool // no order is refused, and all count as unpublished: see InsertLost
	watch *shop.PaymentWatch
}

func newBatch(epoch int64, rows []shop.NewOrder) *batch {
	b := &batch{epoch: epoch, fresh: slices.Clone(rows)}
	slices.SortStableFunc(b.fresh, func(a, b shop.Order) int { return cmp.Compare(a.ID, b.ID) })
	b.fresh = slices.CompactFunc(b.fresh, sameOrder)
	for i := range b.fresh {
		o := &b.fresh[i]
		o.Rev, o.PublishedRev = 1, 1 // see Insert
		o.Touched = true             // the insert sets changed_at; if the row exists, the existing row replaces o
		o.Reason = clip(o.Reason, maxReason)
	}
	return b
}

// sameOrder reports whether two orders are the same. Nodes with the same node number generate the same ids.
func sameOrder(a, b shop.Order) bool { return a.ID == b.ID && a.Sale == b.Sale && a.User == b.User }

// result returns one entry for each requested row. The fresh rows have been written.
func (b *batch) result(requested []shop.NewOrder) []shop.Inserted {
	out, reported := make([]shop.Inserted, len(requested)), make([]bool, len(b.fresh))
	for i := range requested {
		at, written := slices.BinarySearchFunc(b.fresh, requested[i].ID,
			func(o shop.Order, id shop.ID) int { return cmp.Compare(o.ID, id) })
		if !written {
			out[i].Order = b.known[requested[i].ID]
			continue
		}
		out[i] = shop.Inserted{Order: b.fresh[at], Fresh: !reported[at]}
		reported[at] = true // a row that was requested twice was written once
	}
	return out
}

func (b *batch) addKnown(o shop.Order) {
	if b.known == nil {
		b.known = make(map[shop.ID]shop.Order)
	}
	b.known[o.ID] = o
}

// removeExisting runs after a duplicate key. It removes the orders whose rows exist by now. Orders whose key the buyer
// has used for another order become refused, without the key.
func (s Orders) removeExisting(ctx context.Context, b *batch) error {
	rows, err := s.OrdersByID(ctx, orderIDs(b.fresh))
	if err != nil {
		return err
	}
	for _, row := range rows {
		b.addKnown(row)
	}
	remaining := b.fresh[:0]
	for _, o := range b.fresh {
		row, exists := b.known[o.ID]
		switch {
		case !exists:
			remaining = append(remaining, o)
		case !sameOrder(row, o):
			return fmt.Errorf("insert orders: %w: order %s is of user %s in sale %s", shop.ErrIDTaken, o.ID, row.User,
				row.Sale)
		}
	}
	b.fresh = remaining
	return s.refuseUsedKeys(ctx, b)
}

// buyerKey is the unique key of the table (P4).
type buyerKey struct {
	Sale shop.ID `bun:"sale_id"`
	User shop.ID `bun:"user_id"`
	Key  string  `bun:"idem_key"`
}

func (s Orders) refuseUsedKeys(ctx context.Context, b *batch) error {
	fresh := b.fresh
	if len(fresh) == 0 {
		return nil
	}
	sales := convert(fresh, func(o *shop.Order) shop.ID { return o.Sale })
	users := convert(fresh, func(o *shop.Order) shop.ID { return o.User })
	used := make(map[buyerKey]bool)
	var found []buyerKey // a superset of the keys: SQLite has no IN list for tuples
	err := s.db.NewSelect().TableExpr("orders").Column("sale_id", "user_id", "idem_key").
		Where("sale_id IN (?)", bun.List(sales)).Where("user_id IN (?)", bun.List(users)).
		Where("idem_key IS NOT NULL").Scan(ctx, &found)
	if err != nil {
		return wrap("read used keys", err)
	}
	for _, k := range found {
		used[k] = true
	}
	for i := range fresh {
		o := &fresh[i]
		k := buyerKey{o.Sale, o.User, o.Key}
		switch {
		case o.Key == "":
		case used[k] && b.lost:
			return fmt.Errorf("insert order %s: %w: its buyer has another order with its key", o.ID, shop.ErrPermanent)
		case used[k]:
			o.State, o.Reason, o.Key, o.PayBy = shop.Refused, shop.ReasonKey, "", 0
		default:
			used[k] = true // in one batch the first order keeps the key
		}
	}
	return nil
}

// takeAvailable runs when the guard matched no row. It locks the sale, so that its numbers do not change. It takes
// units order by order, the lowest ticket first, until no units are left.
func (s Orders) takeAvailable(
	ctx context.Context, tx bun.Conn, b *batch, group []*shop.Order, last *shop.Order,
) ([]refusal, error) {
	var sales []struct {
		Epoch int64 `bun:"epoch"`
		Free  int64 `bun:"free"`
	}
	err := tx.NewRaw("SELECT epoch, initial + added - withdrawn - taken AS free FROM sales WHERE id = ?"+
		s.d.forUpdate, group[0].Sale).Scan(ctx, &sales)
	if err != nil {
		return nil, err
	}
	if len(sales) == 0 {
		return s.refuse(ctx, tx, b, group, shop.ReasonNoSale)
	}
	if sales[0].Epoch != b.epoch {
		return nil, fmt.Errorf("%w: sale %s is at epoch %d, not %d", shop.ErrStaleEpoch, group[0].Sale, sales[0].Epoch,
			b.epoch)
	}
	slices.SortFunc(group, func(a, b *shop.Order) int { return cmp.Compare(a.Ticket, b.Ticket) })
	units, free := int64(0), sales[0].Free
	var surplus []*shop.Order
	for _, o := range group {
		switch n := int64(o.Qty); {
		case o.State != shop.Pending:
		case n <= free:
			units, free = units+n, free-n
		default:
			surplus = append(surplus, o)
		}
	}
	err = execMatching(ctx, tx, 1, "take units of a locked sale",
		"UPDATE sales SET taken = taken + ?, "+s.setLastOrder()+" WHERE id = ?",
		units, last.Seq, last.ID, last.Seq, last.Sale)
	if err != nil {
		return nil, err
	}
	return s.refuse(ctx, tx, b, surplus, shop.ReasonGuard)
}

// refusal is a pending order for which its sale has no units, or which has no sale.
type refusal struct {
	order  *shop.Order
	reason string
}

// apply updates the order after its row is committed.
func (r refusal) apply() { r.order.State, r.order.Reason, r.order.PayBy = shop.Refused, r.reason, 0 }

// refuse changes pending orders of one sale to refused. Their rows were written earlier in the same transaction.
func (s Orders) refuse(
	ctx context.Context, tx bun.Conn, b *batch, surplus []*shop.Order, reason string,
) ([]refusal, error) {
	var refused []refusal
	var ids []shop.ID
	for _, o := range surplus {
		if o.State == shop.Pending {
			refused, ids = append(refused, refusal{o, reason}), append(ids, o.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	if b.lost {
		return nil, &shop.StuckSale{Sale: surplus[0].Sale, Err: shop.ErrStockShort}
	}
	return refused, execMatching(ctx, tx, len(ids), "refuse orders",
		"UPDATE orders SET state = ?, reason = ?, pay_by = 0 WHERE id IN (?)", shop.Refused, reason, bun.List(ids))
}
