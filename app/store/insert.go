package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// insertTries bounds the rounds of an insert that meets rows which were not there a moment ago. Each round
// knows at least one more of them, so it ends; the bound is for what nobody thought of.
const insertTries = 16

// Insert writes the rows and takes their units from the sales, in one transaction. ErrStaleEpoch: epoch is not the
// sales'; nothing is written. An existing row is returned as it is. A pending order becomes refused whose key the buyer
// has used (ReasonKey), or that finds no units or no sale (ReasonGuard, ReasonNoSale), in the order of their tickets.
// ErrPermanent names no row: halve and repeat (of one row alone, ErrIDTaken is final). Rows count as published: the
// pending entry guarantees it (see Fulfiller). Redelivery is the exception, so nothing is looked up before: a key that
// is there already makes the statement fail, and only then the rows that exist are read and left out.
func (s *Store) Insert(ctx context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	return s.insert(ctx, newBatch(epoch, rows), rows)
}

// InsertLost is Insert for orders that the database has lost: it refuses none. Without units or a sale: *StuckSale of
// ErrScarce, nothing is written. The rows count as not published, and are watched for money; nil: they are not.
func (s *Store) InsertLost(
	ctx context.Context, epoch int64, rows []shop.NewOrder, w *shop.MoneyWatch,
) ([]shop.Inserted, error) {
	b := newBatch(epoch, rows)
	b.lost, b.watch = true, w
	for i := range b.fresh {
		o := &b.fresh[i]
		o.ToldRev = 0
		if o.State != shop.Pending { // the pending state was published as rev 1, and lost
			o.Rev = s.nextRevOf(o)
		}
	}
	return s.insert(ctx, b, rows)
}

func (s *Store) insert(ctx context.Context, b *batch, rows []shop.NewOrder) ([]shop.Inserted, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	for i := 1; i < len(b.fresh); i++ {
		if id := b.fresh[i].ID; id == b.fresh[i-1].ID {
			return nil, fmt.Errorf("insert orders: %w: two of a batch have id %s", shop.ErrIDTaken, id)
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
		if !isDuplicate(err) && !errors.Is(err, errMoved) {
			return nil, err
		}
		if err := s.sift(ctx, b); err != nil {
			return nil, err
		}
		if len(b.fresh) == 0 {
			return b.result(rows), nil
		}
	}
	return nil, fmt.Errorf("insert orders: %w: others keep writing the same ones", shop.ErrTransient)
}

// write is one attempt, inside a transaction. It changes nothing of the orders: it answers which of them were refused.
func (s *Store) write(ctx context.Context, tx bun.Conn, b *batch) ([]refusal, error) {
	fresh := b.fresh
	rows := make([]orderRow, len(fresh))
	for i := range fresh {
		row, err := newRow(&fresh[i])
		if err != nil {
			return nil, err
		}
		if b.lost {
			row.UntoldSince = new(wallClock())
		}
		rows[i] = row
	}
	insert := tx.NewInsert().Model(&rows).Returning("NULL")
	if s.d.defaults {
		insert.ExcludeColumn(unsaid(rows)...)
	}
	if _, err := insert.Exec(ctx); err != nil {
		return nil, err
	}
	if b.watch != nil {
		if err := s.watch(ctx, tx, convert(fresh, func(o *shop.Order) shop.ID { return o.ID }), *b.watch); err != nil {
			return nil, err
		}
	}
	var refused []refusal
	for _, of := range bySale(fresh) {
		some, err := s.take(ctx, tx, b, of)
		if err != nil {
			return nil, err
		}
		refused = append(refused, some...)
	}
	return refused, nil
}

// take makes the sale's guard give the units of the orders, which are all of one sale. Orders for which it
// has no units left become refused, if that may be.
func (s *Store) take(ctx context.Context, tx bun.Conn, b *batch, of []*shop.Order) ([]refusal, error) {
	units, last := int64(0), of[0]
	for _, o := range of {
		if o.Seq > last.Seq {
			last = o
		}
		if o.State == shop.Pending {
			units += int64(o.Qty)
		}
	}
	matched, err := s.guard(ctx, tx, b.epoch, units, last)
	if err != nil || matched == 1 {
		return nil, locked(err, of[0].Sale)
	}
	return s.takeSome(ctx, tx, b, of, last)
}

// newest moves what a sale knows of its rows: the highest seq, and the order that has it. MySQL assigns from the left
// to the right, so the order comes first. Its arguments: seq, order, seq.
func (s *Store) newest() string {
	return "last_order = CASE WHEN ? > seq THEN ? ELSE last_order END, seq = " + s.d.greatest + "(seq, ?)"
}

// guard is the statement that makes overselling impossible (P1): it matches no row if the sale of the order is not
// there, is of another epoch, has fewer units left, or has orders in the archive.
func (s *Store) guard(ctx context.Context, tx bun.Conn, epoch, units int64, last *shop.Order) (int64, error) {
	return exec(ctx, tx, "UPDATE sales SET taken = taken + ?, "+s.newest()+
		" WHERE id = ? AND epoch = ? AND moved_at = 0 AND taken + ? <= initial + added - withdrawn",
		units, last.Seq, last.ID, last.Seq, last.Sale, epoch, units)
}

// bySale groups the orders by sale; the sales are in the order of their ids, as locks are taken.
func bySale(all []shop.Order) [][]*shop.Order {
	groups := make(map[shop.ID][]*shop.Order, 4)
	for i := range all {
		groups[all[i].Sale] = append(groups[all[i].Sale], &all[i])
	}
	return slices.SortedFunc(maps.Values(groups), func(a, b []*shop.Order) int {
		return cmp.Compare(a[0].Sale, b[0].Sale)
	})
}
