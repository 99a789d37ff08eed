package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// insertTries limits the attempts of an insert. Each failed attempt finds at least one more existing row, so the loop
// ends; the limit is for unforeseen cases.
const insertTries = 16

// Insert writes the rows and takes their units from the sales, in one transaction.
//
//   - An existing row is returned as it is.
//   - A pending order becomes refused if the buyer has used its key (ReasonKey), or if no units or no sale are left for
//     it (ReasonGuard, ReasonNoSale). Units go to the lowest tickets first.
//   - ErrStaleEpoch: a sale has another epoch; nothing is written.
//   - ErrPermanent does not name the row: the caller halves the batch and repeats. For a single row, ErrIDTaken is
//     final.
//
// Rows count as published: their entries stay pending until the rows are published (see order.Fulfiller). Redelivery is
// rare, so no row is looked up in advance. If an existing key makes the statement fail, the existing rows are read and
// omitted.
func (s Orders) Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	return s.insert(ctx, newBatch(epoch, rows), rows)
}

// InsertLost is Insert for orders that the database has lost. It refuses no order. If units or the sale are missing, it
// writes nothing and returns a *StuckSale that wraps ErrStockShort. The rows count as unpublished. If w is not nil,
// their payments are watched.
func (s Orders) InsertLost(
	ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.PaymentWatch,
) ([]shop.Inserted, error) {
	b := newBatch(epoch, rows)
	b.lost, b.watch = true, w
	for i := range b.fresh {
		o := &b.fresh[i]
		o.PublishedRev = 0
		if o.State != shop.Pending { // the pending state was published as rev 1, and lost
			o.Rev = s.nextRevOf(o)
		}
	}
	return s.insert(ctx, b, rows)
}

func (s Orders) insert(ctx context.Context, b *batch, rows []shop.NewOrder) ([]shop.Inserted, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	for i := 1; i < len(b.fresh); i++ {
		if id := b.fresh[i].ID; id == b.fresh[i-1].ID {
			return nil, fmt.Errorf("insert orders: %w: two orders of a batch have id %s", shop.ErrIDTaken, id)
		}
	}
	for range insertTries {
		var refused []refusal
		err := s.inTx(ctx, "insert orders", func(tx bun.Conn) (err error) {
			refused, err = s.write(ctx, tx, b)
			return err
		})
		if err == nil {
			for _, r := range refused {
				r.apply()
			}
			return b.result(rows), nil
		}
		if !isDuplicate(err) {
			return nil, err
		}
		if err := s.removeExisting(ctx, b); err != nil {
			return nil, err
		}
		if len(b.fresh) == 0 {
			return b.result(rows), nil
		}
	}
	return nil, fmt.Errorf("insert orders: %w: other transactions keep writing the same orders", shop.ErrTransient)
}

// write makes one attempt, inside a transaction. It does not modify the orders; it returns the refused ones.
func (s Orders) write(ctx context.Context, tx bun.Conn, b *batch) ([]refusal, error) {
	fresh := b.fresh
	rows := make([]orderRow, len(fresh))
	for i := range fresh {
		row, err := newRow(&fresh[i])
		if err != nil {
			return nil, err
		}
		if b.lost {
			row.UnpublishedSince = new(wallClock())
		}
		rows[i] = row
	}
	insert := tx.NewInsert().Model(&rows).Returning("NULL")
	if s.d.defaults {
		insert.ExcludeColumn(defaultColumns(rows)...)
	}
	if _, err := insert.Exec(ctx); err != nil {
		return nil, err
	}
	if b.watch != nil {
		if err := s.Payments().watch(ctx, tx, orderIDs(fresh), *b.watch); err != nil {
			return nil, err
		}
	}
	var refused []refusal
	for _, group := range bySale(fresh) {
		refusals, err := s.take(ctx, tx, b, group)
		if err != nil {
			return nil, err
		}
		refused = append(refused, refusals...)
	}
	return refused, nil
}

// take takes the units of a group of orders from the guard of their sale. All orders of the group are of one sale.
// Orders without units become refused, if b permits it.
func (s Orders) take(ctx context.Context, tx bun.Conn, b *batch, group []*shop.Order) ([]refusal, error) {
	units, last := int64(0), group[0]
	for _, o := range group {
		if o.Seq > last.Seq {
			last = o
		}
		if o.State == shop.Pending {
			units += int64(o.Qty)
		}
	}
	matched, err := s.guard(ctx, tx, b.epoch, units, last)
	if err != nil || matched == 1 {
		return nil, withLockedSale(err, group[0].Sale)
	}
	return s.takeAvailable(ctx, tx, b, group, last)
}

// setLastOrder sets the highest seq of a sale and the order that has it. MySQL assigns from left to right, so
// last_order comes first. Arguments: seq, order, seq.
func (s Orders) setLastOrder() string {
	return "last_order = CASE WHEN ? > seq THEN ? ELSE last_order END, seq = " + s.d.greatest + "(seq, ?)"
}

// guard runs the statement that prevents overselling (P1), and returns the number of matched rows. It matches no row if
// the sale is missing, has another epoch, or has too few units left.
func (s Orders) guard(ctx context.Context, tx bun.Conn, epoch, units int64, last *shop.Order) (int64, error) {
	return exec(ctx, tx, "UPDATE sales SET taken = taken + ?, "+s.setLastOrder()+
		" WHERE id = ? AND epoch = ? AND taken + ? <= initial + added - withdrawn",
		units, last.Seq, last.ID, last.Seq, last.Sale, epoch, units)
}

// bySale groups the orders by sale. The groups are sorted by sale id, which is the lock order.
func bySale(all []shop.Order) [][]*shop.Order {
	groups := make(map[shop.ID][]*shop.Order, 4)
	for i := range all {
		groups[all[i].Sale] = append(groups[all[i].Sale], &all[i])
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b []*shop.Order) int {
		return cmp.Compare(a[0].Sale, b[0].Sale)
	})
}
