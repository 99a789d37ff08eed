package store

import (
	"cmp"
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// ClaimHold raises the hold number of an order that is in the state given, so that a new hold can be taken under it,
// and answers the row. ErrNoRow: it is not in that state. ErrArchived: it is in the archive.
func (s *Store) ClaimHold(ctx context.Context, order shop.ID, in shop.OrderState) (shop.Order, error) {
	return inTx(ctx, s, "claim a hold for order "+order.String(), func(tx bun.Conn) (shop.Order, error) {
		o, err := s.lockOrder(ctx, tx, order)
		if err != nil || o.State != in {
			return o, cmp.Or(err, shop.ErrNoRow)
		}
		o.Hold++
		matched, err := exec(ctx, tx, "UPDATE orders SET hold = hold + 1, "+unstamped+" WHERE id = ?", order)
		if err == nil && matched == 0 {
			err = shop.ErrArchived
		}
		return o, err
	})
}

// Revive flips a refused order to pending under its claimed hold number with a new deadline and the given texts, and
// takes its units through the guard, in one transaction. ErrStaleEpoch: epoch, read before the hold, is not the sale's.
// ErrNoRow: it is not refused with that hold. ErrPermanent: no unit is free, or the texts cannot be stored.
func (s *Store) Revive(ctx context.Context, claimed shop.Order, epoch int64, payBy shop.Millis) (shop.Order, error) {
	return inTx(ctx, s, "revive order "+claimed.ID.String(), func(tx bun.Conn) (shop.Order, error) {
		before, err := s.lockOrder(ctx, tx, claimed.ID)
		if err != nil || before.State != shop.Refused || before.Hold != claimed.Hold {
			return before, cmp.Or(err, shop.ErrNoRow)
		}
		out := claimed
		out.State, out.Rev, out.Reason, out.PayBy = before.State, before.Rev, "", payBy
		row, err := newRow(&out)
		if err != nil {
			return out, err
		}
		err = s.flip(ctx, tx, &out, shop.Pending,
			"reason = '', pay_by = ?, idem_key = ?, content_hash = ?, product_name = ?, address = ?",
			row.PayBy, row.Key, row.ContentHash, row.ProductName, row.Address)
		if err != nil {
			return out, err
		}
		return out, s.takeAgain(ctx, tx, &out, epoch)
	})
}
